/**
 * The modules that code leads to. Those of a plugin are the files of the project that the caller of a wrapper imports, directly or indirectly,
 * and the plugins of Babel that they name. Their code decides what plugins do. Of an installed package that they import, only the
 * manifest counts, which has its version. A package that is a link into the project counts with all its entry points.
 *
 * A pattern finds the imports, also in comments: one file too many costs a miss, one too few a wrong result. An import with a
 * computed path is not found.
 */
import { createRequire, isBuiltin } from 'node:module'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { changedMsOf, COARSE_TICK_MS, isFile, lookAt, namesOf, stampOf, textOf, disk } from '../host/files.ts'
import { namedAnywhereIn, namedIn, variablesIn } from './named.ts'

/** An import with a literal specifier, which is the second group. */
export const IMPORT: RegExp = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*(['"`])([^'"`\n]+)\1/g
const ENDS = [
  '',
  '.js',
  '.mjs',
  '.cjs',
  '.ts',
  '.mts',
  '.cts',
  '.jsx',
  '.tsx',
  '.json',
  '/index.js',
  '/index.mjs',
  '/index.cjs',
  '/index.ts',
]
const OWN = dirname(dirname(fileURLToPath(import.meta.url)))
const OWN_PACKAGES: ReadonlySet<string> = new Set(['varve', '@varve/plugins'])
const CODE = /\.[cm]?[jt]sx?$/
/** Configs without code that name plugins of Babel. */
const DATA = /(?:^|[\\/])(?:\.babelrc(?:\.json)?|babel\.config\.json|package\.json)$/

/** Configs of Babel that are code. */
const BABEL_CODE = /(?:^|[\\/])(?:\.babelrc|babel\.config)\.[cm]?[jt]s$/

/** The name that bundlers give a config file while they load it: its own name, with a timestamp. */
const BUNDLED_CONFIG = /^(.+\.config)\b.*\d{6,}.*\.[cm]?js$/

/** What this process has loaded with `require`, by real path. */
export const loaded: NodeJS.Dict<unknown> = createRequire(import.meta.url).cache

/** The directory of the package that a path leads into, by the last `node_modules` in it. */
const PACKAGE = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?([^\\/]+)/

/** Local modules, the manifests of the installed packages that they import, and the environment variables that their code names. */
export interface LocalModules {
  readonly paths: readonly string[]
  readonly manifests: readonly string[]
  /** Where the manifests of packages that they import would be: code can do without a package until somebody installs it. */
  readonly missing: readonly string[]
  readonly variables: readonly string[]
}

/** What the code of one file names. */
interface Named {
  readonly stamp: string
  /** Specifiers of imports. */
  readonly imported: readonly string[]
  /** Plugins of Babel, by all names that they may have. */
  readonly plugins: readonly string[]
  /** Of a config of Babel that is code, also texts that may be no imports. */
  readonly paths: readonly string[]
  readonly variables: readonly string[]
}

/** By path. All plugins and compilers of a process look at the same files, and the patterns take most of the time. */
const namedByFile: Map<string, Named> = new Map()

/** What one walk has found, so that it looks once for what many modules import. */
interface WalkMemory {
  /** Files by the absolute path that a module imports, or by directory and package. */
  readonly imports: Map<string, readonly string[]>
  /** Where packages are, by their paths in `node_modules`. */
  readonly packages: Map<string, string | undefined>
  /** The manifests of directories. */
  readonly manifests: Map<string, object | undefined>
}

/** The files of the project on the current stack, without those of Varve. */
export function callers(): string[] {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 50
  const { stack = '' } = new Error('where')
  Error.stackTraceLimit = limit
  const files = new Set(stack.split('\n').map(fileIn))
  return [...files].filter((file) => isAbsolute(file) && !isInstalled(file) && !file.startsWith(OWN))
}

/** These files and all local modules that they import, directly or indirectly. */
export function localModules(roots: readonly string[]): LocalModules {
  const paths = new Set<string>()
  const manifests = new Set<string>()
  const missing = new Set<string>()
  const variables = new Set<string>()
  const found = emptyFound()
  const waiting = roots.flatMap(configOf)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (isInstalled(path)) manifests.add(manifestOf(path) ?? path)
    if (paths.has(path) || isInstalled(path)) continue
    paths.add(path)
    const named = CODE.test(path) || DATA.test(path) ? namedBy(path) : undefined
    if (named === undefined) continue
    for (const name of named.variables) variables.add(name)
    for (const specifier of named.imported) {
      const files = filesOf(specifier, dirname(path), found)
      waiting.push(...files)
      if (files.length === 0) for (const manifest of manifestsOf(specifier, dirname(path))) missing.add(manifest)
    }
    for (const specifier of named.plugins) waiting.push(...filesOf(specifier, dirname(path), found))
    for (const specifier of named.paths) waiting.push(...filesNamed(specifier, dirname(path), found))
  }
  const sorted = (names: ReadonlySet<string>): string[] => [...names].sort()
  return {
    paths: sorted(paths),
    manifests: sorted(manifests),
    missing: sorted(missing),
    variables: sorted(variables),
  }
}

/** Where the manifest of a package may be that a module in this directory imports. */
function manifestsOf(specifier: string, from: string): string[] {
  if (
    isBuiltin(specifier) ||
    OWN_PACKAGES.has(nameIn(specifier)) ||
    !/^(?:@[\w.~-]+\/)?[\w~][\w.~-]*(?:\/|$)/.test(specifier)
  )
    return []
  const found: string[] = []
  for (let folder = from; ; folder = dirname(folder)) {
    found.push(join(folder, 'node_modules', nameIn(specifier), 'package.json'))
    if (folder === dirname(folder)) return found
  }
}

/** What a file names; undefined if it cannot be read. */
function namedBy(path: string): Named | undefined {
  const look = lookAt(path)
  const stamp = stampOf(look)
  const known = namedByFile.get(path)
  if (known !== undefined && known.stamp === stamp) return known
  const text = textOf(path)
  if (text === undefined) return undefined
  const specifiers = CODE.test(path) ? Array.from(text.matchAll(IMPORT), ([, , specifier = '']) => specifier) : []
  const imported = [...new Set(specifiers)]
  const paths = BABEL_CODE.test(path) ? namedAnywhereIn(text) : []
  const named = { stamp, imported, plugins: namedIn(text), paths, variables: variablesIn(text) }
  if (changedMsOf(look) <= Date.now() - COARSE_TICK_MS) namedByFile.set(path, named) // a younger file may change without another time
  return named
}

/** The files of the plugins and presets that a config of Babel in a directory names. */
export function namedModules(config: string, folder: string): string[] {
  const found = emptyFound()
  return namedIn(config).flatMap((specifier) => filesOf(specifier, folder, found))
}

function emptyFound(): WalkMemory {
  return { imports: new Map(), packages: new Map(), manifests: new Map() }
}

/** The files that a bundled config file was made from. The bundled file itself is deleted before the build begins. */
function configOf(path: string): string[] {
  if (isFile(path)) return [path]
  const [, name] = BUNDLED_CONFIG.exec(basename(path)) ?? []
  if (name === undefined) return []
  const folders = [dirname(path), process.cwd()]
  const isConfig = (one: string): boolean => one.startsWith(`${name}.`) && CODE.test(one)
  return folders.flatMap((folder) =>
    namesOf(folder)
      .filter(isConfig)
      .map((one) => join(folder, one)),
  )
}

function filesOf(specifier: string, from: string, found: WalkMemory): readonly string[] {
  if (isBuiltin(specifier)) return []
  const isPath = /^(?:\.{1,2}(?:\/|$)|\/|file:)/.test(specifier)
  const path = specifier.startsWith('file:') ? pathOfUrl(specifier) : resolve(from, specifier)
  if (isPath) return path === '' ? [] : once(found.imports, path, () => fileAt(path))
  return once(found.imports, `${from}\0${specifier}`, () => [
    ...ownFiles(specifier, from, found),
    ...entriesOf(specifier, from, found),
  ])
}

/** The files of a text that may be no import. A directory does not count: a config names those of sources, too. */
function filesNamed(specifier: string, from: string, found: WalkMemory): readonly string[] {
  if (!/^[./]/.test(specifier)) return filesOf(specifier, from, found)
  return ENDS.filter((end) => !end.startsWith('/'))
    .map((end) => `${resolve(from, specifier)}${end}`)
    .filter(isFile)
}

/** The file that a path stands for, or the entry points of a directory with a manifest. */
export function fileAt(path: string): string[] {
  const candidates = [...ENDS.map((end) => `${path}${end}`), path.replace(/js$/, 'ts'), path.replace(/js$/, 'tsx')]
  const file = candidates.find(isFile)
  if ((file === undefined || dirname(file) === path) && isFile(join(path, 'package.json')))
    return packageEntries(path, '')
  return file === undefined ? [] : [file]
}

/** The files that a package names for itself: `imports` of its manifest (`#lib/one`), or `exports` under its own name. */
function ownFiles(specifier: string, from: string, { manifests }: WalkMemory): string[] {
  for (let folder = from; ; folder = dirname(folder)) {
    const fields = once(manifests, folder, () => manifestIn(folder))
    if (fields === undefined) {
      if (folder === dirname(folder)) return []
      continue
    }
    if (specifier.startsWith('#')) {
      const files = importsOf(fields, specifier).flatMap((path) => fileAt(join(folder, path)))
      return [join(folder, 'package.json'), ...files]
    }
    const name = nameIn(specifier)
    return Reflect.get(fields, 'name') === name ? packageEntries(folder, specifier.slice(name.length + 1)) : []
  }
}

/** The targets of a name in `imports`, under all conditions. */
function importsOf(fields: object, specifier: string): string[] {
  const imports: unknown = Reflect.get(fields, 'imports')
  return Object.entries(typeof imports === 'object' && imports !== null ? imports : {}).flatMap(([key, target]) => {
    const [start = '', end] = key.split('*', 2)
    const isMatch = end === undefined ? key === specifier : specifier.startsWith(start) && specifier.endsWith(end)
    const part = specifier.slice(start.length, specifier.length - (end?.length ?? 0))
    return isMatch ? texts(target).map((path) => path.replaceAll('*', part)) : []
  })
}

/** The package in a specifier. */
export function nameIn(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function manifestIn(folder: string): object | undefined {
  const text = textOf(join(folder, 'package.json'))
  return text === undefined ? undefined : parse(text)
}

/** The entry points of a package that is a link into the project; the manifest of an installed package, which stands for its version. */
function entriesOf(specifier: string, from: string, { packages }: WalkMemory): string[] {
  const name = nameIn(specifier)
  if (OWN_PACKAGES.has(name)) return []
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    const real = once(packages, path, () => realOf(path))
    if (real !== undefined)
      return isInstalled(`${real}/`)
        ? [join(path, 'package.json')]
        : packageEntries(real, specifier.slice(name.length + 1))
    if (folder === dirname(folder)) return []
  }
}

function once<T>(known: Map<string, T>, key: string, find: () => T): T {
  if (known.has(key)) return known.get(key) as T
  const value = find()
  known.set(key, value)
  return value
}

function packageEntries(folder: string, subpath: string): string[] {
  const fields = manifestIn(folder) ?? {}
  const entries = ['exports', 'main', 'module', 'bin'].flatMap((field) => texts(Reflect.get(fields, field)))
  const named = entries.map((path) => path.replaceAll('*', subpath))
  const paths = [...named, 'index.js', subpath].filter((path) => path !== '').map((path) => join(folder, path))
  const files = paths.flatMap((path) => ENDS.map((end) => `${path}${end}`)).filter(isFile)
  return [join(folder, 'package.json'), ...files]
}

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : []
}

function fileIn(line: string): string {
  const [, place = ''] = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/]).+?):\d+:\d+\)?$/.exec(line) ?? []
  return place.startsWith('file:') ? pathOfUrl(place) : place
}

/** The path that an address of a file names, without a query; empty if it names none. */
function pathOfUrl(address: string): string {
  try {
    return fileURLToPath(address.split('?', 1)[0] ?? '')
  } catch {
    return ''
  }
}

/** Whether a file belongs to an installed package. */
export function isInstalled(path: string): boolean {
  return /[\\/]node_modules[\\/]/.test(path)
}

/** The package.json of the package that a file belongs to; undefined for other files, and for hidden directories in `node_modules`. */
export function manifestOf(path: string): string | undefined {
  const [folder = '', , name = ''] = PACKAGE.exec(path) ?? []
  return folder === '' || name.startsWith('.') ? undefined : join(folder, 'package.json')
}

function realOf(path: string): string | undefined {
  try {
    // Most paths are missing: to ask first is cheaper than an error.
    return disk.statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : disk.realpathSync(path)
  } catch {
    return undefined
  }
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

// The modules that a result leads to: those that its code imports and the source does not, and those that it emits. If nothing but the
// plugin can load one of them, a later build that takes the result from the cache may not be able to:
//
//   import 'virtual:page.css'      the plugin's hooks resolve and load it, from what the skipped call would have kept
//   import './page.js?styles'      as above, by a query
//   import './words.js'            a file, which every tool loads

/** A reason against caching. */
export const LEADS_TO_OWN = 'leads to a module that only the plugin can load'

/** What a result has besides the source that it was made from. */
export interface Result {
  readonly code: string
  /** The code before; imports that it has are not made by the plugin. */
  readonly source: string
  /** Modules that the call emitted. */
  readonly emitted: readonly string[]
}

/** Whether a tool can load all modules that a result leads to. `folders`: that of the module, and the root. */
export function leadsToFiles({ code, source, emitted }: Result, folders: readonly string[]): boolean {
  const imported = Array.from(code.matchAll(IMPORT), ([, , specifier = '']) => specifier)
  const added = [...new Set([...imported.filter((specifier) => !source.includes(specifier)), ...emitted])]
  return added.every((specifier) => isLoadable(specifier, folders))
}

function isLoadable(specifier: string, folders: readonly string[]): boolean {
  if (isBuiltin(specifier) || /^(?:https?|data):/.test(specifier)) return true
  if (specifier.startsWith('file:')) return isLoadable(fileURLToPath(specifier), folders)
  const isPath = /^\.{0,2}(?:[\\/]|$)/.test(specifier) || isAbsolute(specifier)
  return folders.some((folder) => (isPath ? isFileFor(specifier, folder) : isPackageFor(specifier, folder)))
}

/** Tools that serve a directory name files in it by paths that begin with a slash. */
function isFileFor(specifier: string, folder: string): boolean {
  return fileAt(resolve(folder, specifier)).length > 0 || fileAt(join(folder, specifier)).length > 0
}

function isPackageFor(specifier: string, folder: string): boolean {
  const require = createRequire(join(folder, 'package.json'))
  try {
    require.resolve(specifier)
    return true
  } catch (error) {
    // `require` does not find what a package exports for `import` only.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return true
    const bases = nameIn(specifier) === specifier ? (require.resolve.paths(specifier) ?? []) : []
    return bases.some((base) => disk.existsSync(join(base, specifier, 'package.json')))
  }
}

/** The directories from which the specifiers of a module are resolved. */
export function foldersFor(path: string | undefined, root: string): readonly string[] {
  return path === undefined ? [root] : [dirname(path), root]
}
