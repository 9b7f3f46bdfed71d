/** Writing processes that a test starts, controls and kills. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('writer.mjs', import.meta.url))

/** A process of `writer.mjs`. */
export class Writer {
  readonly name: string
  /** Numbers of its acknowledged commits. */
  readonly acknowledged: number[] = []
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #errors = ''
  #waiting: ((line: string) => void)[] = []

  constructor(dir: string, engine: 'native' | 'wasm', name: string) {
    this.name = name
    this.#child = spawn(process.execPath, [SCRIPT, dir, engine, name], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#ended = once(this.#child, 'close')
    this.#child.stdin?.on('error', () => undefined) // it may be killed while an order is written
    this.#child.stderr?.on('data', (chunk: Buffer) => void (this.#errors += chunk.toString()))
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#heard(line))
  }

  /** Waits for a line of this kind, or for the end of the process. */
  async heard(kind: 'ready' | 'done'): Promise<void> {
    const line = new Promise<void>((resolve) => this.#waiting.push((heard) => heard === kind && resolve()))
    await Promise.race([line, this.#ended])
  }

  tell(order: string): void {
    this.#child.stdin?.write(`${order}\n`)
  }

  /** kill -9; resolves when the process has ended and its last message has arrived. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** Closes it and throws what it complained about. */
  async end(): Promise<void> {
    this.tell('close')
    await this.#ended
    if (this.#errors !== '') throw new Error(`writer ${this.name}: ${this.#errors}`)
  }

  #heard(line: string): void {
    if (line.startsWith('ack ')) this.acknowledged.push(Number(line.slice(4)))
    for (const waiting of this.#waiting) waiting(line)
  }
}
