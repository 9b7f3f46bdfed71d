/**
 * The identity of a compiler: its name, and a digest that must be equal for its entries to be usable. The digest covers webpack,
 * Node, mode, target, the options that decide how modules are found and parsed, the option `version`, the build dependencies and the configs
 * of webpack-cli. `environment.ts` covers what these files import and what else was loaded.
 */
import { createHash } from 'node:crypto'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { gitDirectory } from 'varve'
import { digestOfInput } from 'varve/reads'
import type { Compiler } from 'webpack'
import type { Root } from '../build/root.ts'
import type { NamedDigests } from './changes.ts'
import { lenientDigest } from '../build/digest.ts'
import { cliConfigs } from './inputs.ts'
import type { VarveWebpackOptions } from './options.ts'
import { disk } from '../host/files.ts'

/** Version of the layout of values and records, part of each digest. */
export const LAYOUT = 10

/** Name and digest of one compiler. */
export interface Identity {
  readonly name: string
  readonly digest: string
  /** What is part of the digest besides name and build dependencies. */
  readonly inputs: Readonly<Record<string, string>>
  /** The same and the mode, as digests or short values. */
  readonly digests: NamedDigests
  /** Files, directories and packages that the user named or webpack-cli loaded, absolute or relative to the context. */
  readonly buildDependencies: readonly string[]
}

/** Compilers made in this turn of the event loop: how many have each default name. */
const madeThisTurn: Map<string, number> = new Map()

/**
 * Numbers the compilers of one MultiCompiler that have the same default name: 1, 2, ... in the order of their configs. One
 * call of webpack makes all of them in one turn of the event loop.
 */
export function ordinalOf(compiler: Compiler): number {
  const name = defaultNameOf(compiler, '')
  const ordinal = (madeThisTurn.get(name) ?? 0) + 1
  if (madeThisTurn.size === 0) queueMicrotask(() => madeThisTurn.clear())
  madeThisTurn.set(name, ordinal)
  return ordinal
}

/** The cache directory, and the root of the checkout. */
interface Place {
  readonly folder: string
  readonly root: Root
}

/** The options of the compiler must be complete. */
export function identityOf(compiler: Compiler, options: VarveWebpackOptions, place: Place, ordinal: number): Identity {
  const recorded = options.trackReads === false ? [] : cliConfigs(compiler)
  const buildDependencies = [...Object.values(options.buildDependencies ?? {}).flat(), ...recorded]
  const hash = createHash('sha256')
  const { mode, target } = compiler.options
  const [node = ''] = process.versions.node.split('.', 1)
  const inputs = { webpack: compiler.webpack.version, node, version: options.version ?? '' }
  const deciding = decidingOptions(compiler, place.root)
  hash.update(JSON.stringify([LAYOUT, inputs, mode, target, deciding]))
  for (const dependency of buildDependencies)
    hash.update(`\n${place.root.toRelative(dependency)}\n`).update(contentOf(compiler, dependency))
  return {
    name: options.name ?? `${defaultNameOf(compiler, projectOf(compiler, place))}${ordinal > 1 ? ` #${ordinal}` : ''}`,
    digest: hash.digest('hex').slice(0, 16),
    inputs,
    digests: digestsOf({ ...inputs, mode: String(mode), target: String(target), ...deciding }),
    buildDependencies,
  }
}

/**
 * Digests of options that are in no key of webpack. A program may build several configs one after another that differ in nothing else. Left
 * out are rules, which are in the keys of modules, and `output`, in which some projects have the time of the build.
 */
function decidingOptions({ options }: Compiler, root: Root): Readonly<Record<string, string>> {
  const { amd, devtool, experiments, externals, externalsPresets, externalsType, node, resolveLoader } = options
  const { generator, noParse, parser } = options.module
  const { innerGraph, providedExports, sideEffects, usedExports } = options.optimization
  const all = {
    devtool,
    experiments,
    externals: [externals, externalsPresets, externalsType],
    module: [generator, noParse, parser, amd, node],
    optimization: [innerGraph, providedExports, sideEffects, usedExports],
    resolve: [options.resolve, resolveLoader],
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, lenientDigest(value, (text) => root.toRelative(text))]),
  )
}

function digestsOf(inputs: Readonly<Record<string, string>>): NamedDigests {
  return Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, digestOfInput(value, name)]))
}

/** The default name of a compiler: its name, mode, target and project. */
function defaultNameOf(compiler: Compiler, project: string): string {
  const { name, mode, target } = compiler.options
  return [name ?? 'default', mode ?? 'production', target ?? '', project].map(String).join(' ').trimEnd()
}

/**
 * The project of a compiler, as a name that stays the same if the project and its cache are moved together. A cache outside the working
 * tree may serve several worktrees of a repository, so the name has the repository and the place of the project in a worktree.
 */
function projectOf({ context }: Compiler, { folder, root }: Place): string {
  const repository = gitDirectory(root.folder)
  const isOwn = repository === undefined || (isIn(root.folder, folder) && !isIn(repository, folder))
  const parts = isOwn ? [relative(folder, context)] : [relative(folder, repository), relative(root.folder, context)]
  return parts.map((part) => part.split(sep).join('/')).join(' ')
}

function isIn(folder: string, path: string): boolean {
  return path.startsWith(folder + sep)
}

/** The bytes of a file, or of a directory's package.json; empty for a dependency that only webpack can resolve. */
function contentOf(compiler: Compiler, dependency: string): Uint8Array {
  const isFolder = /[\\/]$/.test(dependency)
  if (!isFolder && !isAbsolute(dependency) && !dependency.startsWith('.')) return new Uint8Array()
  const path = resolve(compiler.context, dependency, isFolder ? 'package.json' : '')
  try {
    return disk.readFileSync(path)
  } catch {
    return new Uint8Array()
  }
}
