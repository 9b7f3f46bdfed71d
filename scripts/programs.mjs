// @ts-check
// `npm run setup -- --programs`: installs the programs of the system that some tests need, as packages of Debian or Ubuntu: as root, and in
// continuous integration through sudo. It changes no other system, and names what to install there. Without a program, a test is skipped with
// a line that names it; in continuous integration that is an error.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { env, getuid, stderr } from 'node:process'
import { isMain } from './common/root.mjs'
import { run, runMain, Skipped, step } from './common/steps.mjs'

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

const APT = ['apt-get', '--quiet', '--option', 'DPkg::Lock::Timeout=300']

/** Throws Skipped if this user may not install. @param {readonly string[]} packages */
export async function installPackages(packages) {
  const isRoot = getuid?.() === 0
  const hasApt = await run('apt-get', ['--version']).then(
    () => true,
    () => false,
  )
  if (!hasApt || (!isRoot && env['CI'] !== 'true')) {
    throw new Skipped(`install ${packages.join(', ')}; on Debian: apt-get install ${packages.join(' ')}`)
  }
  const [program = '', ...args] = isRoot ? APT : ['sudo', '--non-interactive', ...APT]
  await run(program, [...args, 'update'])
  await run(program, [...args, 'install', '--yes', '--no-install-recommends', ...packages], {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

if (isMain(import.meta)) {
  const names = /** @type {Program[]} */ (Object.keys(PROGRAMS))
  const missing = names.filter((name) => pathOf(name) === undefined)
  const name = missing.length === 0 ? 'programs: all are installed' : `programs: ${missing.join(', ')}`
  await runMain(() =>
    step(name, () => (missing.length === 0 ? undefined : installPackages(missing))).catch((error) => {
      if (!(error instanceof Skipped)) throw error
      stderr.write(`    ${error.message}\n`)
    }),
  )
}
