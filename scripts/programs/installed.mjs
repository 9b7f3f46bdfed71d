// @ts-check
// The programs of the system that some tests need, and what to do without one: a test is skipped with a line that names it, and in
// continuous integration, which runs `npm run setup -- --programs` first, that is an error.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { env, stderr } from 'node:process'

/** What a program is for, by its package of Debian, and its names or paths. */
export const PROGRAMS = /** @type {const} */ ({
  chromium: {
    purpose: 'the page of varve view in a browser',
    names: ['chromium', 'chromium-browser', 'google-chrome'],
  },
  'fonts-dejavu-core': {
    purpose: 'the pictures of that page',
    names: ['/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'],
  },
})

/** @typedef {keyof typeof PROGRAMS} Program */

/** The path of a program, undefined if it is not there. CHROMIUM is the path of another browser. @param {Program} program */
export function pathOf(program) {
  const { names } = PROGRAMS[program]
  const folders = (env['PATH'] ?? '').split(delimiter)
  const given = program === 'chromium' ? env['CHROMIUM'] : undefined
  const paths = names.flatMap((name) => (name.startsWith('/') ? [name] : folders.map((folder) => join(folder, name))))
  return [given ?? '', ...paths].find((path) => path !== '' && existsSync(path))
}

/** As `pathOf`, for a test that is skipped without it. Throws in continuous integration. @param {Program} program */
export function pathForTest(program) {
  const path = pathOf(program)
  if (path !== undefined) return path
  const line = `${PROGRAMS[program].purpose}: ${program} is not installed; run 'npm run setup -- --programs'`
  if (env['CI'] === 'true' && process.platform === 'linux') throw new Error(line)
  stderr.write(`\n  SKIPPED ${line}\n`)
  return undefined
}
