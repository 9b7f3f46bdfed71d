/**
 * What tells one compiler from another, and what must be equal for its entries to be of use at all: webpack, Node,
 * mode, target, the user's `version`, the files named as build dependencies and the configs of webpack-cli. What these
 * files import, and what else was loaded, is `environment.ts`'s part.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { Compiler } from 'webpack'
import { cliConfigs } from './inputs.ts'
import type { VarveWebpackOptions } from './options.ts'

/** Part of each digest: changes with the layout of values and records. */
export const LAYOUT = 5

/** Name and digest of one compiler. */
export interface Identity {
  readonly name: string
  readonly digest: string
  /** Files, folders and packages that the user named or webpack-cli loaded, absolute or to be resolved from the context. */
  readonly buildDependencies: readonly string[]
}

/** Compilers made since the event loop had its turn, by what they look like. */
const together: Map<string, number> = new Map()

/**
 * Tells apart compilers of one MultiCompiler that look the same: 1, 2, ... in the order of their configs, which one call
 * of webpack makes into compilers without a pause.
 */
export function ordinalOf(compiler: Compiler): number {
  const look = lookOf(compiler, '')
  const ordinal = (together.get(look) ?? 0) + 1
  if (together.size === 0) queueMicrotask(() => together.clear())
  together.set(look, ordinal)
  return ordinal
}

/** `folder` is that of the cache. The options of the compiler must be complete. */
export function identityOf(compiler: Compiler, options: VarveWebpackOptions, folder: string, ordinal: number): Identity {
  const recorded = options.trackReads === false ? [] : cliConfigs(compiler)
  const buildDependencies = [...Object.values(options.buildDependencies ?? {}).flat(), ...recorded]
  const hash = createHash('sha256')
  const { mode, target } = compiler.options
  const versions = [LAYOUT, compiler.webpack.version, process.versions.node.split('.', 1), options.version ?? '']
  hash.update(JSON.stringify([versions, mode, target]))
  for (const dependency of buildDependencies) hash.update(`\n${dependency}\n`).update(contentOf(compiler, dependency))
  return {
    name: options.name ?? `${lookOf(compiler, folder)}${ordinal > 1 ? ` #${ordinal}` : ''}`,
    digest: hash.digest('hex').slice(0, 16),
    buildDependencies,
  }
}

/** What a compiler is called where the user gave no name: the same wherever both folders are moved, and whoever starts it. */
function lookOf(compiler: Compiler, folder: string): string {
  const { name, mode, target } = compiler.options
  const context = relative(folder, compiler.context).split(sep).join('/')
  return [name ?? 'default', mode ?? 'production', target ?? '', context].map(String).join(' ').trimEnd()
}

/** A file's bytes, a folder's package.json; nothing for what only webpack can resolve. */
function contentOf(compiler: Compiler, dependency: string): Uint8Array {
  const isFolder = /[\\/]$/.test(dependency)
  if (!isFolder && !isAbsolute(dependency) && !dependency.startsWith('.')) return new Uint8Array()
  const path = resolve(compiler.context, dependency, isFolder ? 'package.json' : '')
  try {
    return readFileSync(path)
  } catch {
    return new Uint8Array()
  }
}
