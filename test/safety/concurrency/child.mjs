// @ts-check
// A process of these parts: starts, receives orders, is killed. A process that takes longer than HANG_MS counts as a hang.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Whatever takes longer is a hang. Above the 5 s of the promise, because the machine may be busy with other work. */
export const HANG_MS = 30_000

/** @param {number} ms @returns {Promise<void>} */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A process that exchanges one JSON value per line: messages on stdout, orders on stdin. */
export class Child {
  /** How it ended; undefined while it runs. @type {{ code: number | null, signal: string | null } | undefined} */
  end
  /** What it wrote to stderr. */
  errors = ''
  /** @type {Record<string, any>[]} its messages */
  heard = []
  #process
  #closed
  #isTraced
  /** @type {Set<() => void>} */
  #waiting = new Set()

  /**
   * @param {string} script beside this file @param {unknown} order
   * @param {readonly string[]} [tracer] a command that runs the process and leaves it its number
   */
  constructor(script, order, tracer = []) {
    const path = fileURLToPath(new URL(script, import.meta.url))
    const [command = process.execPath, ...args] = [...tracer, process.execPath, path, JSON.stringify(order)]
    const child = spawn(command, args)
    this.#process = child
    this.#isTraced = tracer.length > 0
    child.stdin.on('error', () => undefined) // the process may be killed while an order is written
    child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => void (this.errors += text))
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(line))
    this.#closed = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.end = { code, signal }
        this.#wake()
        resolve(undefined)
      })
    })
  }

  get pid() {
    return this.#process.pid ?? 0
  }

  /** How it ended and what it complained of last: Node.js prints the line of an uncaught error first, and a bundle has long ones. */
  get ending() {
    return `ended with ${this.end?.signal ?? this.end?.code}: ${this.errors.slice(-1000)}`
  }

  /** @param {unknown} order */
  tell(order) {
    this.#process.stdin.write(`${JSON.stringify(order)}\n`)
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.#process.kill(signal)
  }

  /** Waits for a message, from number `from` on, that `is` accepts; undefined if the process ends or hangs first. */
  async hear(/** @type {(message: Record<string, any>) => boolean} */ is, from = 0, ms = HANG_MS) {
    const deadline = Date.now() + ms
    for (;;) {
      const found = this.heard.slice(from).find(is)
      if (found !== undefined || this.end !== undefined || Date.now() >= deadline) return found
      await this.#news(deadline - Date.now())
    }
  }

  /** Waits for its end. False: it hangs, and was killed. */
  async ended(ms = HANG_MS) {
    const isInTime = await Promise.race([this.#closed.then(() => true), sleepUnref(ms)])
    if (isInTime === true) return true
    this.signal('SIGKILL')
    await this.#closed
    return false
  }

  /** kill -9; resolves when the process has ended and its last message has arrived. */
  async kill() {
    // Before the process runs, a tracer that waits for it would stay, and its end of the pipes with it.
    if (this.#isTraced) await this.hear(({ ready }) => ready)
    this.signal('SIGKILL')
    await this.#closed
  }

  /** @param {string} line */
  #hear(line) {
    try {
      this.heard.push(JSON.parse(line))
    } catch {
      return // killed in the middle of a line
    }
    this.#wake()
  }

  #wake() {
    for (const wake of this.#waiting) wake()
  }

  /** @param {number} ms @returns {Promise<void>} */
  #news(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#waiting.add(wake)
    })
  }
}

/** @param {number} ms @returns {Promise<void>} */
const sleepUnref = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref())
