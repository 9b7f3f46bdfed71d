/**
 * A namespace for tools that create a store synchronously. The first use opens its cache, which commits automatically
 * (`open-namespace.ts`). A directory that cannot be used costs misses and a warning, not an error.
 */
import { type Cache, type CacheOptions, openCache, VarveError } from 'varve'
import { isAnything, type Shape } from '../build/shape.ts'
import { closeBeforeExit, isClosed } from '../build/before-exit.ts'
import { MemoryNamespace, OpenNamespace } from './open-namespace.ts'
import type { AdapterOptions } from './options.ts'
import type { DataKind } from './value.ts'

/** Version of the layout of values. */
const LAYOUT = 1

/** Failures of the directory or of the machine, for which the adapter uses memory. Any other is a mistake of the caller. */
const UNUSABLE: ReadonlySet<string> = new Set([
  'SECRET_MISSING',
  'PERMISSION',
  'DISK_FULL',
  'IO',
  'NOT_A_CACHE',
  'DAMAGED',
  'NEWER_FORMAT',
  'BUSY',
  'EXHAUSTED',
  'ENGINE_UNAVAILABLE',
  'INTERNAL',
])

/** The namespace of an adapter, opened at first use. */
export class LazyNamespace {
  readonly #tool: string
  readonly #options: AdapterOptions
  readonly #dataKind: DataKind
  readonly #shape: Shape<unknown>
  readonly #warned: Set<string> = new Set()
  #opening: Promise<OpenNamespace> | undefined

  /**
   * Opens nothing yet.
   *
   * @param tool name of the namespace, and of the cache unless the options have one
   * @param shape values of another shape are misses
   */
  constructor(tool: string, options: AdapterOptions, dataKind: DataKind, shape: Shape<unknown> = isAnything) {
    this.#tool = tool
    this.#options = options
    this.#dataKind = dataKind
    this.#shape = shape
  }

  /** The open namespace, the same one until `close`. Rejects with INVALID_OPTION. */
  open(): Promise<OpenNamespace> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Commits and closes the cache. A later use opens it again. */
  async close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    const space = await opening?.catch(() => undefined)
    isClosed(this)
    await space?.close()
  }

  async #open(): Promise<OpenNamespace> {
    const { name = this.#tool, version = '', readOnly = false, ...others } = this.#options
    const warn = (warning: VarveError): void => this.#warn(warning)
    const wanted = { ...others, name, readOnly, onWarning: warn }
    const cache = await openUsable(wanted, warn)
    if (cache?.status().remote !== undefined) closeBeforeExit(this)
    const space = cache?.namespace(this.#tool, { version: `${LAYOUT} ${version}` }) ?? new MemoryNamespace()
    return new OpenNamespace({
      cache,
      space,
      isWritable: cache !== undefined && !readOnly,
      dataKind: this.#dataKind,
      shape: this.#shape,
      warn,
    })
  }

  #warn(warning: VarveError): void {
    if (this.#warned.has(warning.code)) return
    this.#warned.add(warning.code)
    const { onWarning } = this.#options
    if (onWarning === undefined) process.emitWarning(warning.message, { type: 'VarveWarning', code: warning.code })
    else onWarning(warning)
  }
}

/** The cache; undefined if its directory cannot be used. */
async function openUsable(options: CacheOptions, warn: (warning: VarveError) => void): Promise<Cache | undefined> {
  try {
    return await openCache(options)
  } catch (error) {
    if (!(error instanceof VarveError) || !UNUSABLE.has(error.code)) throw error
    warn(error)
    return undefined
  }
}
