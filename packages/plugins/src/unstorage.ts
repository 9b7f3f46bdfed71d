/**
 * A driver for unstorage. Nitro, Nuxt, h3 and other users of unstorage can use Varve through it.
 *
 * @example
 * import { createStorage } from 'unstorage'
 * import varveDriver from '@varve/plugins/unstorage'
 * const storage = createStorage({ driver: varveDriver({ dir: '.cache/pages' }) })
 */
import { Buffer } from 'node:buffer'
import { isAnyArrayBuffer, isDataView } from 'node:util/types'
import { LazyNamespace, ADAPTER_FIELDS, type AdapterOptions } from './adapters/namespace.ts'
import { TEXT } from 'varve/internal'
import { checkOptions } from './build/options.ts'

/** Options of `varveDriver(options)`. */
export interface VarveDriverOptions extends AdapterOptions {
  /**
   * Ignored. Nitro passes the whole config of a storage to its driver, so this is the module that the config names.
   * @defaultValue none
   */
  readonly driver?: string | undefined
}

/** The metadata of an item: the time when it was set. */
export type VarveItemMeta = { readonly mtime: Date }

/** The `Driver` of unstorage. Keys have the form `a:b:c`. Values are strings; raw values may be of any type. */
export interface VarveDriver {
  readonly name: string
  readonly options: VarveDriverOptions
  hasItem(key: string): Promise<boolean>
  getItem(key: string): Promise<string | null>
  getItems(items: readonly { readonly key: string }[]): Promise<{ key: string; value: string | null }[]>
  getItemRaw(key: string): Promise<unknown>
  /** Resolves once the item is committed, or is in memory if the cache directory cannot be written. */
  setItem(key: string, value: string): Promise<void>
  /** As `setItem`, with one commit for all items. */
  setItems(items: readonly { readonly key: string; readonly value: string }[]): Promise<void>
  setItemRaw(key: string, value: unknown): Promise<void>
  removeItem(key: string): Promise<void>
  getMeta(key: string): Promise<VarveItemMeta | null>
  getKeys(base?: string): Promise<string[]>
  clear(base?: string): Promise<void>
  /** Commits and closes the cache; a later call opens it again. */
  dispose(): Promise<void>
}

/** Makes the driver, whose first call opens the cache. Throws INVALID_OPTION if an option is unknown or wrong. */
export function varveDriver(options: VarveDriverOptions = {}): VarveDriver {
  checkOptions('varveDriver()', options, { ...ADAPTER_FIELDS, driver: TEXT })
  const { driver: _, ...own } = options
  const lazy = new LazyNamespace('unstorage', own, 'clone')
  const write = async (items: readonly { readonly key: string; readonly value: unknown }[]): Promise<void> => {
    const space = await lazy.open()
    for (const { key, value } of items) space.put(key, value, Date.now())
    await space.committed()
  }
  return {
    name: 'varve',
    options,
    hasItem: async (key) => (await lazy.open()).has(key),
    getItem: async (key) => textOf((await lazy.open()).get(key)?.value),
    async getItems(items) {
      const keys = items.map(({ key }) => key)
      const found = (await lazy.open()).getMany(keys)
      return keys.map((key, index) => ({ key, value: textOf(found[index]?.value) }))
    },
    getItemRaw: async (key) => (await lazy.open()).get(key)?.value ?? null,
    setItem: (key, value) => write([{ key, value }]),
    setItems: (items) => write(items),
    setItemRaw: (key, value) => write([{ key, value: bytesOf(value) }]),
    async removeItem(key) {
      const space = await lazy.open()
      space.delete(key)
      await space.committed()
    },
    async getMeta(key) {
      const entry = (await lazy.open()).get(key)
      return entry === undefined ? null : { mtime: new Date(entry.timeMs) }
    },
    getKeys: async (base = '') => (await lazy.open()).keys(base),
    async clear(base = '') {
      const space = await lazy.open()
      space.clear(base)
      await space.committed()
    },
    dispose: () => lazy.close(),
  }
}

export default varveDriver

/** The result of `getItem` for a value: a text, or raw bytes as UTF-8, as in drivers for files. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return Buffer.isBuffer(value) ? value.toString() : null
}

/** A buffer, or a view of one, as bytes; any other value unchanged. */
function bytesOf(value: unknown): unknown {
  if (isAnyArrayBuffer(value)) return new Uint8Array(value)
  if (!ArrayBuffer.isView(value)) return value
  const bytes: unknown = Reflect.construct(Uint8Array, [
    fieldOf(value, 'buffer'),
    fieldOf(value, 'byteOffset'),
    fieldOf(value, 'byteLength'),
  ])
  return bytes
}

const typedArray: object = Object.getPrototypeOf(Uint8Array.prototype)

/** A property as the language has it: a subclass may override every one. */
function fieldOf(view: ArrayBufferView, name: 'buffer' | 'byteOffset' | 'byteLength'): unknown {
  const prototype = isDataView(view) ? DataView.prototype : typedArray
  return Reflect.get(prototype, name, view)
}
