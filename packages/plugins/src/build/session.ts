/**
 * The open cache of a build: one per folder and process, shared by all plugins that use it and closed with the last of
 * them. No failure here fails a build: it costs misses and a warning.
 */
import { resolve } from 'node:path'
import { type Cache, openCache, type Task, type TaskOptions } from 'varve'
import type { CachedOptions } from './options.ts'
import type { Root } from './root.ts'
import { type Warn, Warnings } from './warnings.ts'

/** Changes with the layout of what is kept. */
const LAYOUT = '1'

/** Sessions in use. */
const sessions: Map<string, Session> = new Map()

/** A cache that some builds have open. */
export class Session {
  readonly #id: string
  readonly #opening: Promise<Cache | undefined>
  readonly #isReadOnly: boolean
  /** Told through whoever came first. */
  readonly warnings: Warnings
  #users = 0
  #cache: Cache | undefined

  private constructor(id: string, tool: string, options: CachedOptions, root: Root, warn: Warn) {
    this.#id = id
    this.#isReadOnly = options.readOnly ?? false
    this.warnings = new Warnings(warn)
    this.#opening = this.#open(tool, options, root)
  }

  /** Opens the cache of `tool` as the options say, or shares it. Each call is paired with one of `release`. */
  static async acquire(tool: string, options: CachedOptions, root: Root, warn: Warn): Promise<Session> {
    const { dir = '', engine, maxBytes, readOnly } = options
    const id = JSON.stringify([tool, root.folder, dir, engine, maxBytes, readOnly])
    const session = sessions.get(id) ?? new Session(id, tool, options, root, warn)
    sessions.set(id, session)
    session.#users += 1
    await session.#opening
    return session
  }

  /** A task of that name, undefined where there is no cache to keep its results in. */
  task(name: string, options: Omit<TaskOptions, 'codec' | 'version'>): Task<Uint8Array> | undefined {
    return this.#cache?.task(name, { ...options, version: LAYOUT, codec: 'bytes' })
  }

  /** Writes what is new. */
  async commit(): Promise<void> {
    if (this.#isReadOnly) return
    await this.#cache?.commit().catch((error: unknown) => this.warnings.failed('cannot be written', error))
  }

  /** Writes what is new, and closes the cache with its last user. */
  async release(): Promise<void> {
    this.#users -= 1
    await this.commit()
    if (this.#users > 0) return
    if (sessions.get(this.#id) === this) sessions.delete(this.#id)
    await this.#cache?.close().catch((error: unknown) => this.warnings.failed('cannot be closed', error))
  }

  async #open(tool: string, { dir, engine, maxBytes, readOnly }: CachedOptions, root: Root): Promise<Cache | undefined> {
    try {
      this.#cache = await openCache({
        name: tool,
        dir: dir === undefined ? undefined : resolve(root.folder, dir),
        engine,
        maxBytes,
        readOnly,
        onWarning: this.warnings.heard,
      })
    } catch (error) {
      this.warnings.failed('cannot be opened, the build goes on without', error)
    }
    return this.#cache
  }
}
