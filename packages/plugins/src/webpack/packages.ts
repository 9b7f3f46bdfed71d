/**
 * Which files belong to installed packages, and so change only with the version of their package, as one build finds them. All others are
 * sources:
 *
 *   node_modules/lib/a.js     installed, unless `snapshot` of webpack names its package as not managed
 *   node_modules/ui/a.js      a source if the package is a link into the project, as in workspaces; links of pnpm lead to installed packages
 *
 * Where the link of a package leads is part of its version: pnpm has a copy of one version for each set of packages that it depends on.
 */
import { dirname, join, relative, resolve, sep } from 'node:path'
import { isPlugged } from 'varve/internal'
import type { Compilation, Compiler } from 'webpack'
import { isInstalled, manifestOf } from '../build/modules.ts'
import { disk } from '../host/files.ts'

type SnapshotOptions = Compiler['options']['snapshot']
type FileSystemInfo = Compilation['fileSystemInfo']

/** Stands between a version and where the link of the package leads. */
export const LEADS_TO = ' -> '

/** The packages of one build. */
export class Packages {
  readonly #options: SnapshotOptions
  /** Where links lead, by the directory of the package; undefined for installed packages. */
  readonly #targets: Map<string, string | undefined> = new Map()

  constructor(options: SnapshotOptions) {
    this.#options = options
  }

  /** Whether a file belongs to an installed package, or to a tool that keeps files beside the packages. */
  isInstalled(path: string): boolean {
    if (!isInstalled(path)) return false
    if (isPlugged() || manifestOf(path) === undefined) return true
    const { managedPaths = [], unmanagedPaths = [] } = this.#options
    return (
      managedPaths.some((one) => isDefault(one) || isMatch(one, path)) &&
      !unmanagedPaths.some((one) => isMatch(one, path))
    )
  }

  /** The path of a source that is read through a link among the packages; any other path as it is. */
  sourceOf(path: string): string {
    const manifest = isInstalled(path) ? manifestOf(path) : undefined
    if (manifest === undefined) return path
    const folder = dirname(manifest)
    const target = this.#targetOf(folder)
    return target === undefined ? path : target + path.slice(folder.length)
  }

  #targetOf(folder: string): string | undefined {
    if (this.#targets.has(folder)) return this.#targets.get(folder)
    const real = realOf(folder)
    const target = isInstalled(`${real}/`) ? undefined : real
    this.#targets.set(folder, target)
    return target
  }
}

/** webpack's default is the `node_modules` that webpack itself is in. Packages that a workspace has beside it are no less installed. */
function isDefault(pattern: string | RegExp): boolean {
  return typeof pattern === 'string' && /[\\/]node_modules[\\/]$/.test(pattern)
}

function isMatch(pattern: string | RegExp, path: string): boolean {
  return typeof pattern === 'string'
    ? path.startsWith(/[\\/]$/.test(pattern) ? pattern : `${pattern}${sep}`)
    : pattern.test(path)
}

function realOf(folder: string): string {
  try {
    return disk.realpathSync(folder)
  } catch {
    return folder // missing
  }
}

/**
 * Makes webpack compare where links of packages lead. It takes name and version of a managed package from its package.json, so in its view
 * of the file system that file has a version with the link. Of packages that are not managed, as in the store of pnpm, it compares time and
 * content of that file: it is as new as the link.
 */
export function compareLinks(info: FileSystemInfo): void {
  const { fs } = info
  const readFile: FileSystemInfo['fs']['readFile'] = (path: unknown, ...rest: unknown[]) => {
    const callback = rest.at(-1)
    const read = (done: unknown): void => void Reflect.apply(fs.readFile, fs, [path, ...rest.slice(0, -1), done])
    const folder = typeof path === 'string' ? packageAt(path) : undefined
    if (folder === undefined || typeof callback !== 'function') return read(callback)
    fs.readlink(folder, (noLink, target) => {
      if (noLink) read(callback)
      else
        read((error: unknown, content: unknown) => callback(error, error ? content : withLink(content, folder, target)))
    })
  }
  const stat: FileSystemInfo['fs']['stat'] = (path: unknown, ...rest: unknown[]) => {
    const callback = rest.at(-1)
    const look = (done: unknown): void => void Reflect.apply(fs.stat, fs, [path, ...rest.slice(0, -1), done])
    const folder = typeof path === 'string' ? packageAt(path) : undefined
    if (folder === undefined || typeof callback !== 'function') return look(callback)
    look((error: unknown, stats: unknown) => {
      if (error || fs.lstat === undefined) return callback(error, stats)
      fs.lstat(folder, (_, link) => callback(null, link?.isSymbolicLink() === true ? withTimeOf(stats, link) : stats))
    })
  }
  const view: object = Object.create(fs, { readFile: { value: readFile }, stat: { value: stat } })
  Object.defineProperty(info, 'fs', { value: view, writable: true })
}

/** The directory of a package, if a path is that of its package.json. */
function packageAt(path: string): string | undefined {
  return manifestOf(path) === path ? dirname(path) : undefined
}

/** A link is as new as the newer of what it leads to and itself: copies of a package may be hard links of the same files. */
function withTimeOf(stats: unknown, { mtime }: { readonly mtime: Date }): unknown {
  if (typeof stats !== 'object' || stats === null) return stats
  const own: unknown = Reflect.get(stats, 'mtime')
  return Number(own) > mtime.getTime() ? stats : Object.create(stats, { mtime: { value: mtime } })
}

/** The directory of links in a store such as that of pnpm: a package finds there what it depends on. */
const IN_STORE = /^(.*[\\/]node_modules[\\/]\.[^\\/]+[\\/].*[\\/]node_modules)[\\/]/

/**
 * The manifests of the links by which packages in a store find each other, for the packages of these files. webpack follows modules that
 * are loaded by their real paths, in which no link is left.
 */
export function linksBeside(files: Iterable<string>): string[] {
  const homes = new Set(Array.from(files, (path) => IN_STORE.exec(path)?.[1]).filter((home) => home !== undefined))
  return [...homes].flatMap((home) => linksIn(home))
}

function linksIn(folder: string): string[] {
  try {
    return disk.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isSymbolicLink()) return [join(path, 'package.json')]
      return entry.isDirectory() && entry.name.startsWith('@') ? linksIn(path) : []
    })
  } catch {
    return [] // removed since
  }
}

/** Where the link of an installed package leads, as a part of its version; empty if it is none. */
export function linkOf(folder: string): string {
  try {
    return LEADS_TO + targetOf(folder, disk.readlinkSync(folder))
  } catch {
    return ''
  }
}

function withLink(content: unknown, folder: string, target: unknown): unknown {
  try {
    const manifest: unknown = JSON.parse(String(content))
    if (typeof manifest !== 'object' || manifest === null) return content
    const { version = '' }: { version?: unknown } = manifest
    const linked = { ...manifest, version: `${String(version)}${LEADS_TO}${targetOf(folder, String(target))}` }
    return Buffer.from(JSON.stringify(linked))
  } catch {
    return content // webpack reports it
  }
}

/** Relative, as in another checkout. */
function targetOf(folder: string, target: string): string {
  const home = dirname(folder)
  return relative(home, resolve(home, target)).split(sep).join('/')
}
