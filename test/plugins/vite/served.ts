/** Projects that two development servers serve, one with the cache and one without: their responses and updates have to be equal. */
import { deepEqual } from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { linkInstalled, type Stats } from '../stale/project.ts'

const PROGRAM = fileURLToPath(new URL('serve.mjs', import.meta.url))

/** The responses of a server, by URL. */
type Responses = Readonly<Record<string, string>>

/** A server in a process of its own. */
class Served {
  readonly #child: ChildProcess

  constructor(folder: string, isCached: boolean) {
    const env = { ...process.env, NODE_ENV: 'development', VITEST: '', SERVE_CACHED: isCached ? 'yes' : '' }
    this.#child = fork(PROGRAM, { cwd: folder, env, execArgv: [] })
  }

  async ask<Answer>(name?: string, argument?: unknown): Promise<Answer> {
    const answer = once(this.#child, 'message')
    if (name !== undefined) this.#child.send({ name, argument })
    const [{ result }] = await answer
    return result
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

/** A project with its two servers. */
export class ServedProject {
  readonly folder: string
  #servers: readonly Served[] = []

  constructor(files: Readonly<Record<string, string>>, folder: string = makeFolder()) {
    this.folder = folder
    linkInstalled(join(folder, 'node_modules'))
    for (const [path, text] of Object.entries(files)) this.#put(path, text)
  }

  get sources(): string[] {
    return readdirSync(join(this.folder, 'src'))
      .filter((name) => name.startsWith('part'))
      .map((name) => `src/${name}`)
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8')
  }

  /** Starts both servers. */
  async start(): Promise<void> {
    this.#servers = [new Served(this.folder, true), new Served(this.folder, false)]
    onTestFinished(() => this.kill())
    await this.#both()
  }

  /** Ends both servers as a user does. Returns the results of the calls. */
  async close(): Promise<readonly Stats[]> {
    const [stats] = await this.#both<readonly Stats[]>('close')
    return stats ?? []
  }

  /** Ends both servers as the system does. */
  kill(): void {
    for (const server of this.#servers) server.kill()
  }

  async idle(): Promise<void> {
    await this.#both('idle')
  }

  async restart(): Promise<void> {
    await this.#both('restart')
  }

  /** Expects equal responses of both servers, and returns how many. */
  async compare(about: string): Promise<number> {
    const [cached = {}, plain = {}] = await this.#both<Responses>('crawl')
    const urls = Object.keys({ ...cached, ...plain }).filter((url) => cached[url] !== plain[url])
    deepEqual(
      urls.map((url) => [url, cached[url]]),
      urls.map((url) => [url, plain[url]]),
      `after ${about}`,
    )
    return Object.keys(plain).length
  }

  /** Changes files while the servers run, and expects that both send the same updates. */
  async edit(about: string, files: Readonly<Record<string, string>>): Promise<void> {
    const changed = Object.entries(files).filter(([path, text]) => this.read(path) !== text)
    for (const [path, text] of changed) this.#put(path, text)
    const [cached, plain] = await this.#both<readonly string[]>('settle', changed.length)
    deepEqual(unique(cached), unique(plain), `updates after ${about}`)
  }

  /** Changes any number of files while the servers run. What they send depends on the order in which they see the changes. */
  async change(work: () => void): Promise<void> {
    work()
    await this.#both('settle', 1)
    await this.idle()
  }

  /** Changes files while no server runs. */
  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) this.#put(path, text)
  }

  #both<Answer>(name?: string, argument?: unknown): Promise<Answer[]> {
    return Promise.all(this.#servers.map((server) => server.ask<Answer>(name, argument)))
  }

  #put(path: string, text: string): void {
    const file = join(this.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    // In one step, because a server may read a file that is being written.
    const made = join(this.folder, 'node_modules/made')
    writeFileSync(made, text)
    renameSync(made, file)
  }
}

/** Updates without repetitions: a watcher may report one change twice. */
function unique(updates: readonly string[] = []): string[] {
  return [...new Set(updates)].sort()
}
