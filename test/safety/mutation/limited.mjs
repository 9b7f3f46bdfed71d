// @ts-check
// Runs a program with a limit that tells a hang from a slow machine: a multiple of the time that the program takes without a
// defect. When the limit is exceeded, the program runs without the defect once more. If that takes long, too, the machine has
// become slower, and the run with the defect is repeated with a new limit.
import { spawn } from 'node:child_process'

/** The limit is so many times a run without a defect, and LEAST_MS on top: processes start slowly on a busy machine. */
const FACTOR = 10
const LEAST_MS = 60_000

/** A program that has exceeded its limit hangs if it takes at most a third of the limit without the defect. */
const CERTAIN_FACTOR = 3

/** @typedef {{ command: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd: string, until?: RegExp }} Program `until`: a text that
 * ends it */
/** @typedef {{ code: number | null, signal: string | null, output: string, ms: number, isCut: boolean }} Ended `isCut`: the limit was exceeded */

/**
 * Runs a program of a defect.
 * @param {(defect: string) => Program} programOf the program with a defect, or without for an empty name
 * @param {string} defect
 * @param {number} soundMs how long the last run without a defect took
 * @returns {Promise<Ended>} `isCut` if it hangs
 */
export async function runDefective(programOf, defect, soundMs) {
  for (;;) {
    const limitMs = LEAST_MS + FACTOR * soundMs
    const ended = await runProgram(programOf(defect), limitMs)
    if (!ended.isCut) return ended
    const sound = await runProgram(programOf(''))
    if (CERTAIN_FACTOR * sound.ms <= limitMs) return ended
    soundMs = sound.ms
  }
}

/** Runs a program, without a limit by default. @param {Program} program @param {number} [limitMs] @returns {Promise<Ended>} */
export function runProgram({ command, args, env, cwd, until }, limitMs) {
  const startMs = performance.now()
  return new Promise((resolve, reject) => {
    // A group of its own, because a program that hangs may have started others that hang.
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let [output, isCut] = ['', false]
    const kill = () => killGroup(child.pid)
    const timer =
      limitMs === undefined
        ? undefined
        : setTimeout(() => {
            isCut = true
            kill()
          }, limitMs)
    const stop = () => {
      kill()
      process.exit(1)
    }
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, stop)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        output += text
        if (until?.test(output)) kill()
      })
    }
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      for (const name of ['SIGINT', 'SIGTERM']) process.off(name, stop)
      resolve({ code, signal, output, ms: performance.now() - startMs, isCut })
    })
  })
}

/** @param {number | undefined} pid */
function killGroup(pid) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
