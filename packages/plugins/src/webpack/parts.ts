/**
 * What the packs of modules consist of, for `varve view`: a pack is one value, and its bytes are shared by hundreds of modules. The namespace
 * `parts:<namespace of the packs>` has an entry for each such pack, with its key:
 *
 *   [['<varve:root>/src/a.js', 1200, 3.5], ..]    path, bytes of the source, and milliseconds that building it cost
 */
import type { Cache, Namespace } from 'varve'
import type { Module } from 'webpack'
import type { Root } from '../build/root.ts'
import { costOf } from './build-report.ts'
import { kindOf } from './groups.ts'

/** What the name of the namespace begins with; `varve view` knows it. */
const PARTS_PREFIX = 'parts:'

/** The kind of the values that are modules. */
const MODULES = 'Compilation/modules'

/** The parts of the packs of one compiler. */
export class Parts {
  readonly #namespace: Namespace<unknown>
  readonly #root: Root

  /** `packs` is the namespace of the packs. */
  constructor(cache: Cache, packs: string, version: string, root: Root) {
    this.#namespace = cache.namespace(`${PARTS_PREFIX}${packs}`, { version, codec: 'json' })
    this.#root = root
  }

  /** Puts the parts of a pack of modules. */
  put(key: string, items: readonly { readonly identifier: string; readonly data: unknown }[]): void {
    if (kindOf(items[0]?.identifier ?? '') !== MODULES) return
    this.#namespace.put(
      key,
      items.map(({ identifier, data }) => [this.#root.toRelative(pathOf(identifier)), ...weightOf(data)]),
    )
  }

  delete(key: string): void {
    this.#namespace.delete(key)
  }
}

/** The path in the identifier of a module: what is after its kind, its type and its loaders. */
function pathOf(identifier: string): string {
  return identifier.slice(Math.max(identifier.lastIndexOf('!'), identifier.lastIndexOf('|')) + 1)
}

function weightOf(module: unknown): [bytes: number, workMs: number] {
  return isModule(module) ? [sizeOf(module), Math.round(costOf(module) * 10) / 10] : [0, 0]
}

/** The bytes of the source; 0 without one. A restored module has no generator, so webpack's own `size` throws. */
function sizeOf(module: Module): number {
  try {
    return module.originalSource()?.size() ?? 0
  } catch {
    return 0 // modules of other plugins decide what this does
  }
}

function isModule(value: unknown): value is Module {
  if (typeof value !== 'object' || value === null || !('buildInfo' in value && 'originalSource' in value)) return false
  return typeof value.originalSource === 'function'
}
