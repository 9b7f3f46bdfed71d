/**
 * The identity of a compiler: its name, and a digest that must be equal for its entries to be usable. The digest covers webpack,
 * Node, mode, target, the options that decide how modules are found and parsed, the option `version`, the build dependencies and the configs
 * of webpack-cli. `environment.ts` covers what these files import and what else was loaded.
 *
 * The files that decide how a compiler is configured are recorded, not guessed from a list of names:
 *
 * - the configs that webpack-cli loaded, including those that they extend, as it passes them to webpack's own cache
 * - the files that called `new VarveWebpackPlugin()` and `webpack()`, and the main script of the process
 * - every module of the project that `require` has loaded so far. The `children` of a module would be incomplete: they lack
 *   what another module required first
 *
 * webpack follows the imports of each file.
 *
 * Each generation of a compiler's entries has a number, a digest and its newest environment. The newest few are kept; a generation replaces the one with the same place, which frees the space of its entries at once:
 *
 *   generation   0 1 2 3 4 5 6        kept: 3 4 5 6
 *   place        0 1 2 3 0 1 2        a namespace each
 *
 *   record:  `<generation> <digest> <id of the environment, hex> <inputs as JSON>`, a line each, the newest first
 */
import { createHash } from 'node:crypto'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gitDirectory } from 'varve'
import { digestOfInput, parseJson } from 'varve/internal'
import type { Compiler } from 'webpack'
import { lenientDigest } from '../build/digest.ts'
import { isInstalled, loaded } from '../build/modules.ts'
import type { Root } from '../build/root.ts'
import { disk, textOf } from '../host/files.ts'
import type { VarveWebpackOptions } from './options.ts'

/** Version of the layout of values and records, part of each digest. */
export const LAYOUT = 12

/** Digests or short values of named inputs. */
export type NamedDigests = Readonly<Record<string, string>>

/** Name and digest of one compiler. */
export interface Identity {
  readonly name: string
  readonly digest: string
  /** What is part of the digest besides name and build dependencies. */
  readonly inputs: Readonly<Record<string, string>>
  /** `inputs` and the mode, as digests or short values. */
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
 * The project of a compiler, as a name that other checkouts of it have, too:
 *
 *   cache in the checkout        where the project is from the cache, because both are moved together
 *   cache in the Git directory   where the project is in its worktree
 *   cache elsewhere              the name in package.json, the repository that the checkout was cloned from, and where the project is in the
 *                                checkout. Without a name it is where the repository or the project is from the cache
 *
 * Projects that agree in all of it take turns as branches do: entries are valid only in their environment, and the newest few are kept.
 */
function projectOf({ context }: Compiler, { folder, root }: Place): string {
  const repository = gitDirectory(root.folder)
  const isInRepository = repository !== undefined && isIn(repository, folder)
  const place = relative(root.folder, context)
  if (isIn(root.folder, folder) && !isInRepository) return namesOf(relative(folder, context))
  const name = isInRepository ? undefined : packageNameOf(context, root.folder)
  if (name !== undefined) return namesOf(name, repository === undefined ? '' : originOf(repository), place)
  return repository === undefined ? namesOf(relative(folder, context)) : namesOf(relative(folder, repository), place)
}

function namesOf(...names: readonly string[]): string {
  return names
    .filter((name) => name !== '')
    .map((name) => name.split(sep).join('/'))
    .join(' ')
}

/** The name in the package.json of a directory, or in the nearest one above it up to the root. */
function packageNameOf(folder: string, root: string): string | undefined {
  try {
    const { name }: { name?: unknown } = JSON.parse(disk.readFileSync(join(folder, 'package.json'), 'utf8'))
    if (typeof name === 'string' && PACKAGE_NAME.test(name)) return name
  } catch {
    // The next one may be better.
  }
  return folder === root || dirname(folder) === folder ? undefined : packageNameOf(dirname(folder), root)
}

const PACKAGE_NAME = /^[\w@./-]{1,214}$/

/** Where a repository was cloned from, without protocol and credentials: `github.com/owner/name`; empty if that is unknown. */
function originOf(repository: string): string {
  const config = textOf(join(repository, 'config'), 'utf8') ?? ''
  const [, url = ''] = /^\[remote "origin"\]$[^[]*?^\s*url = (.+)$/m.exec(config) ?? []
  const [, host = '', path = ''] =
    /^(?:\w+:\/\/)?(?:[^@/]*@)?([\w.-]+)(?::\d+\/|:|\/)\/?([\w./~-]+?)(?:\.git)?\/?$/.exec(url) ?? []
  return path === '' ? '' : `${host}/${path}`
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

/** Limit of the calls of a stack that are inspected. */
const CALLS_MAX = 200

/** Files of the project on the current stack, from the caller of `callee` up. */
export function callersOf(callee: unknown): string[] {
  return filesOnStack(callee).filter(isOfProject)
}

/** Files of the project on the current stack, and the direct caller of `callee` even if it is in a package: that package supplies the config. */
export function makersOf(callee: unknown): string[] {
  return filesOnStack(callee).filter((path, index) => index === 0 || isOfProject(path))
}

function filesOnStack(callee: unknown): string[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = CALLS_MAX
    Error.prepareStackTrace = (_, calls) => calls.map((call) => call.getFileName() ?? '')
    Error.captureStackTrace(holder, typeof callee === 'function' ? (callee as () => void) : undefined)
    const names = Array.isArray(holder.stack) ? holder.stack.filter((name) => typeof name === 'string') : []
    return [...new Set(names.map(pathOf))].filter((path) => isAbsolute(path) && disk.existsSync(path))
  } finally {
    Error.prepareStackTrace = prepareStackTrace
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** The main script, and the modules that `require` has loaded so far, without packages. */
export function loadedFiles(): string[] {
  const [, main = ''] = process.argv
  return [main, ...Object.keys(loaded)].filter((path) => isAbsolute(path) && isOfProject(path) && disk.existsSync(path))
}

/** The configs from which webpack-cli made this compiler. It passes them to its own plugin. */
export function cliConfigs(compiler: Compiler): string[] {
  const found: string[] = []
  for (const plugin of compiler.options.plugins) {
    const isCli = typeof plugin === 'object' && plugin !== null && plugin.constructor.name === 'CLIPlugin'
    const options: unknown = isCli ? Reflect.get(plugin, 'options') : undefined
    const paths: unknown =
      typeof options === 'object' && options !== null ? Reflect.get(options, 'configPath') : undefined
    for (const path of [paths].flat()) if (typeof path === 'string') found.push(resolve(pathOf(path)))
  }
  return [...new Set(found)]
}

function pathOf(name: string): string {
  return name.startsWith('file:') ? fileURLToPath(name.replace(/[?#].*$/, '')) : name
}

function isOfProject(path: string): boolean {
  return !isInstalled(path)
}

/** How many generations are kept: for worktrees, branches and values of the option `version` that take turns. */
const KEPT = 4

/** Entries that were built in one environment, or in environments that followed each other while one process ran. */
export interface Generation {
  readonly generation: number
  readonly digest: string
  /** Id of the newest environment. */
  readonly id: string
  /** What the digest covers, for `varve why`. */
  readonly inputs: NamedDigests
}

/** The name and the version of namespaces. */
export interface EntriesName {
  readonly name: string
  readonly version: string
}

/** The name and version of the entries of a generation. */
export function entriesOf({ name, digest }: Identity, generation: number): EntriesName {
  const place = generation % KEPT
  return { name: place === 0 ? name : `${name} (${place + 1} of ${KEPT})`, version: `${digest} ${generation}` }
}

/** The number of a generation that is newer than all known ones. */
export function nextGeneration(known: readonly Generation[]): number {
  return known.reduce((next, { generation }) => Math.max(next, generation + 1), 0)
}

/** The newest generations; of two with one number, the first. */
export function encodeGenerations(all: readonly Generation[]): Buffer {
  const firsts = all.filter(
    ({ generation }, index) => all.findIndex((other) => other.generation === generation) === index,
  )
  const kept = firsts.toSorted((one, other) => other.generation - one.generation).slice(0, KEPT)
  return Buffer.from(kept.map(lineOf).join('\n'))
}

/** The generations in a record, without lines that are none. */
export function decodeGenerations(record: string): Generation[] {
  return record.split('\n', KEPT).flatMap((line) => {
    const [, generation, digest = '', id = '', inputs = ''] = /^(\d{1,12}) (\w+) (\w+) (.*)$/.exec(line) ?? []
    if (generation === undefined) return []
    return [
      {
        generation: Number(generation),
        digest,
        id: Buffer.from(id, 'hex').toString('latin1'),
        inputs: readNamed(inputs),
      },
    ]
  })
}

function lineOf({ generation, digest, id, inputs }: Generation): string {
  return `${generation} ${digest} ${Buffer.from(id, 'latin1').toString('hex')} ${JSON.stringify(inputs)}`
}

/** Named digests in a text; none if it has another form. */
function readNamed(json: string): NamedDigests {
  try {
    const value: unknown = parseJson(json)
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
    return Object.fromEntries(entries.filter(([, digest]) => typeof digest === 'string'))
  } catch {
    return {}
  }
}
