/**
 * What tells one compiler from another, and what must be equal for its entries to be of use at all: webpack, Node,
 * mode, target, the user's `version`, and the files named as build dependencies. What these files import is
 * `environment.ts`'s part.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { Compiler } from 'webpack'
import type { VarveWebpackOptions } from './options.ts'

/** Part of each digest: changes with the layout of values and records. */
export const LAYOUT = 3

/** Name and digest of one compiler. */
export interface Identity {
  readonly name: string
  readonly digest: string
  /** Files, folders and packages, absolute or to be resolved from the context. */
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
  const buildDependencies = options.buildDependencies
    ? Object.values(options.buildDependencies).flat()
    : configFiles(process.cwd(), process.argv)
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

/** What webpack-cli reads when it is not told otherwise, and what it is told. */
function configFiles(folder: string, args: readonly string[]): string[] {
  const found = ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts'].map((end) => `webpack.config.${end}`)
  args.forEach((arg, index) => {
    const [flag, value = args[index + 1]] = arg.split('=', 2)
    if ((flag === '--config' || flag === '-c') && value !== undefined) found.push(value)
  })
  return [...new Set(found.map((file) => resolve(folder, file)))].filter((file) => existsSync(file))
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
