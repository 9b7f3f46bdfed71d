// @ts-check
// Steps of the scripts. Each prints its name and its duration, and its whole output if it fails. Everything goes to stderr:
// stdout is for the result that the caller wants (`npm run demo -- --json`).
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { root } from './root.mjs'

const screen = process.stderr
const NAME_WIDTH = 40

/** A failure that has already been printed. */
export class StepFailed extends Error {}

/** A step that cannot run on this machine; the message names what it needs. */
export class Skipped extends Error {}

/** A command that ended with a code other than 0; `message` names it, `output` is everything it printed. */
export class CommandFailed extends Error {
  /** @param {string} message @param {string} output */
  constructor(message, output) {
    super(message)
    this.output = output
  }
}

/** @param {string} mark @param {string} name @param {string} note */
export function printStep(mark, name, note) {
  const clear = screen.isTTY ? '\r\x1b[K' : ''
  screen.write(`${clear}  ${mark} ${name.padEnd(NAME_WIDTH)} ${note.padStart(10)}\n`)
}

/** @param {number} startMs */
export const secondsSince = (startMs) => `${((performance.now() - startMs) / 1000).toFixed(1)} s`

/** Shows a step with its seconds so far until the interval is cleared. @param {string} name @param {number} startMs */
function startClock(name, startMs) {
  const show = () =>
    screen.write(
      `\r\x1b[K  … ${name.padEnd(NAME_WIDTH)} ${`${Math.floor((performance.now() - startMs) / 1000)} s`.padStart(10)}`,
    )
  show()
  return setInterval(show, 1000)
}

/**
 * Runs one step and prints its line. If the step fails, prints its output and throws StepFailed. Skipped is thrown as it is.
 * @template T
 * @param {string} name
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(name, work) {
  const startMs = performance.now()
  const clock = screen.isTTY ? startClock(name, startMs) : undefined
  try {
    const result = await work()
    clearInterval(clock)
    printStep('✓', name, secondsSince(startMs))
    return result
  } catch (error) {
    clearInterval(clock)
    if (error instanceof Skipped) {
      printStep('-', name, 'SKIPPED')
      throw error
    }
    printStep('✗', name, secondsSince(startMs))
    if (error instanceof CommandFailed) screen.write(`\n${error.output.trimEnd()}\n`)
    screen.write(`\n${error instanceof Error ? error.message : String(error)}\n\n`)
    throw new StepFailed(name)
  }
}

/**
 * Runs all steps, also after one that fails. Skipped ones are listed at the end, so that they are noticed. Throws StepFailed if any failed.
 * @template T
 * @param {string} what the steps are, in the message
 * @param {readonly T[]} items
 * @param {(item: T) => string} nameOf
 * @param {(item: T) => unknown} work
 */
export async function stepEach(what, items, nameOf, work) {
  let failed = 0
  /** @type {string[]} */
  const skipped = []
  for (const item of items) {
    await step(nameOf(item), () => work(item)).catch((error) => {
      if (error instanceof Skipped) return void skipped.push(`${nameOf(item)}: ${error.message}`)
      if (!(error instanceof StepFailed)) throw error
      failed++
    })
  }
  for (const line of skipped) screen.write(`\n  SKIPPED ${line}\n`)
  if (failed > 0) throw new StepFailed(`${failed} ${what} failed`)
}

/**
 * Runs a command from the root, without a shell. Returns its output, or throws an error that has it.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, stdout?: number | 'pipe', stderr?: number | 'pipe' | 'ignore' }} [options]
 * `stdout`: the file that receives its output; `stderr`: the same file by default
 * @returns {Promise<string>}
 */
export function run(command, args, { cwd = root, env = process.env, stdout = 'pipe', stderr = stdout } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', stdout, stderr] })
    /** @type {Buffer[]} */
    const chunks = []
    const take = (/** @type {Buffer} */ chunk) => chunks.push(chunk)
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.on('error', (cause) => reject(new Error(`cannot start ${command}: ${cause.message}`, { cause })))
    child.on('close', (code, signal) => {
      const output = Buffer.concat(chunks).toString()
      if (code === 0) return resolve(output)
      reject(new CommandFailed(`${command} ${args.join(' ')}: ended with ${signal ?? `exit code ${code}`}`, output))
    })
  })
}

/**
 * Ends every script. A failed step has already printed its reason; any other error is a bug and is printed with its stack.
 * @param {() => Promise<unknown>} main
 */
export async function runMain(main) {
  try {
    await main()
  } catch (error) {
    process.exitCode = 1
    if (!(error instanceof StepFailed)) throw error
  }
}
