/**
 * The local modules behind a plugin: the files of the project that the caller of a wrapper imports, directly or through others.
 * Their code decides what plugins do. Installed packages are left out: their versions are inputs by themselves. A package that is a
 * link into the project counts with all of its entry points.
 *
 * Imports are found by their look, also in comments: a file too many costs a miss, one too few a wrong result. An import whose path
 * is computed is not found.
 */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const IMPORT = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*(['"`])([^'"`\n]+)\1/g
const VARIABLE = /\bprocess\.env(?:\.|\[['"])([A-Za-z_]\w*)/g
const ENDS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.jsx', '.tsx', '.json', '/index.js', '/index.mjs', '/index.cjs', '/index.ts']
const OWN = dirname(import.meta.dirname)
const OWN_PACKAGES: ReadonlySet<string> = new Set(['varve', '@varve/plugins'])
const CODE = /\.[cm]?[jt]sx?$/

/** What bundlers make of a config file while they load it: its name, and more. */
const BUNDLED_CONFIG = /^(.+\.config)\b.*\d{6,}.*\.[cm]?js$/

/** Local modules, and the variables whose names stand in them. */
export interface LocalModules {
  readonly paths: readonly string[]
  readonly variables: readonly string[]
}

/** The files of the project that stand in the stack of the code which asks, without those of Varve. */
export function callers(): string[] {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 50
  const { stack = '' } = new Error('where')
  Error.stackTraceLimit = limit
  const files = new Set(stack.split('\n').map(fileIn))
  return [...files].filter((file) => isAbsolute(file) && !isInstalled(file) && !file.startsWith(OWN))
}

/** All local modules that these files lead to, themselves included. */
export function localModules(roots: readonly string[]): LocalModules {
  const paths = new Set<string>()
  const variables = new Set<string>()
  const waiting = roots.flatMap(configOf)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (paths.has(path) || isInstalled(path)) continue
    paths.add(path)
    const text = CODE.test(path) ? textOf(path) : undefined
    if (text === undefined) continue
    for (const [, name = ''] of text.matchAll(VARIABLE)) variables.add(name)
    for (const [, , specifier = ''] of text.matchAll(IMPORT)) waiting.push(...filesOf(specifier, path))
  }
  return { paths: [...paths].sort(), variables: [...variables].sort() }
}

/** A config file that was bundled is gone when its build begins: the files of that name stand for it. */
function configOf(path: string): string[] {
  if (isFile(path)) return [path]
  const [, name] = BUNDLED_CONFIG.exec(basename(path)) ?? []
  if (name === undefined) return []
  const folders = [dirname(path), process.cwd()]
  const isConfig = (one: string): boolean => one.startsWith(`${name}.`) && CODE.test(one)
  return folders.flatMap((folder) => namesIn(folder).filter(isConfig).map((one) => join(folder, one)))
}

function filesOf(specifier: string, from: string): string[] {
  if (specifier.startsWith('node:')) return []
  if (!/^(?:\.{1,2}(?:\/|$)|\/|file:)/.test(specifier)) return entriesOf(specifier, from)
  const path = specifier.startsWith('file:') ? fileURLToPath(specifier) : resolve(dirname(from), specifier)
  const candidates = [...ENDS.map((end) => `${path}${end}`), path.replace(/js$/, 'ts'), path.replace(/js$/, 'tsx')]
  const found = candidates.find(isFile)
  return found === undefined ? [] : [found]
}

/** The entry points of a package that is a link into the project. */
function entriesOf(specifier: string, from: string): string[] {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  if (OWN_PACKAGES.has(name)) return []
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const real = realOf(join(folder, 'node_modules', name))
    if (real !== undefined) return isInstalled(`${real}/`) ? [] : packageEntries(real, specifier.slice(name.length + 1))
    if (folder === dirname(folder)) return []
  }
}

function packageEntries(folder: string, subpath: string): string[] {
  const manifest = textOf(join(folder, 'package.json'))
  const fields = manifest === undefined ? {} : parse(manifest)
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
  const [, place = ''] = /(?:\(|at (?:async )?)((?:file:\/\/)?[^\s()]+):\d+:\d+\)?$/.exec(line) ?? []
  try {
    return place.startsWith('file:') ? fileURLToPath(place.split('?', 1)[0] ?? '') : place
  } catch {
    return ''
  }
}

function isInstalled(path: string): boolean {
  return /[\\/]node_modules[\\/]/.test(path)
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
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
