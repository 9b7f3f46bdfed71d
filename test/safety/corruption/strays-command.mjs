// @ts-check
// `varve repair --check`, `ls` and `doctor` on cache directories with foreign files: they end with a documented exit code and print
// no control characters.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { at } from '../../../scripts/common/root.mjs'
import { readFolder, writeFolder } from './folder.mjs'
import { FORMS, plant } from './plant.mjs'

const COMMAND = at('packages/varve/dist/bundle/cli.js')
const HANG_MS = 20_000

/** Stack traces, and escape codes of a planted name, which must not reach a screen. */
// oxlint-disable-next-line no-control-regex -- these codes are the subject
const UNFIT = /INTERNAL|\n {4}at |[\u0000-\u0008\u000b-\u001f]/

/** @typedef {import('../suite.mjs').Violation} Violation */

/** Every kind of thing under two names, and what stands alone. */
export const commandForms = () =>
  FORMS.filter(
    (form) => / (newer-manifest|a-table)$/.test(form) || !form.includes(' ') || form.startsWith('newer'),
  ).map((form) => `command ${form}`)

/** @param {string} base @param {string} text @param {Record<string, number>} figures @param {Violation[]} violations */
export async function runCommands(base, text, figures, violations) {
  const form = text.slice('command '.length)
  const dir = join(base, `command-${form.replace(' ', '-')}`)
  const folder = readFolder(join(base, 'cache'))
  writeFolder(dir, folder)
  if (plant(dir, [...folder.keys()], form, join(base, 'outside')) !== undefined) return
  for (const command of ['repair --check', 'ls', 'doctor']) {
    figures['commands'] = (figures['commands'] ?? 0) + 1
    const problem = await runCommand([...command.split(' '), '--dir', dir])
    if (problem === '') continue
    figures['badCommands'] = (figures['badCommands'] ?? 0) + 1
    violations.push({ what: `varve ${command}: ${problem}`, replay: text })
  }
}

/** What is wrong with how the command ends; '' = nothing. @param {string[]} args @returns {Promise<string>} */
function runCommand(args) {
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => void (output = (output + text).slice(-20_000)))
  const watch = setTimeout(() => child.kill('SIGKILL'), HANG_MS)
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(watch)
      if (signal !== null) resolve(signal === 'SIGKILL' ? 'hung' : `died with ${signal}`)
      else if (code === null || code > 4) resolve(`exit code ${code}: ${output}`)
      else resolve(UNFIT.test(output) ? `says: ${output.slice(0, 300)}` : '')
    })
  })
}
