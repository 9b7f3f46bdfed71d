/**
 * Where webpack finds build dependencies: it follows the imports of each file. Its view of the file system for that:
 *
 * - A loaded module whose file has been removed has no imports in it. Without this, one such file would prevent the whole build
 *   from being cached.
 * - The real path of a file is made from that of its directory. webpack's resolver has looked for links at most of these paths
 *   already; `fs.realpath` looks at each directory again for each file, which is 10,443 calls for the 1,300 files of Babel.
 * - Where a file of an installed package finds another file of that package changes only with its version. webpack's resolver looks for
 *   package.json and links in every directory around each of these files.
 */
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { callbackify } from 'node:util'
import type { Compilation, Compiler } from 'webpack'
import { loaded, manifestOf } from '../build/modules.ts'
import { disk } from '../host/files.ts'
import { Packages } from './packages.ts'

/** webpack's view of the file system, including what this build has read so far. */
export type FileSystemInfo = Compilation['fileSystemInfo']
type Fs = FileSystemInfo['fs']
type Callback = (error: Error | null, path?: string, found?: { readonly path: string }) => void
type Resolve = (folder: string, request: string, context: object, callback: Callback) => void
type Resolvers = Readonly<Record<'resolveCjs' | 'resolveEsm' | 'resolveCjsAsChild', Resolve>>

/** What following build dependencies has found: files, directories, what is missing, and where each request leads. */
export type Resolution = NonNullable<Parameters<Parameters<FileSystemInfo['resolveBuildDependencies']>[3]>[1]>
export type Snapshot = Parameters<FileSystemInfo['checkSnapshotValid']>[0]

/** Default options of a snapshot: compare timestamps first, and hashes if those differ. */
const SNAPSHOT_OPTIONS = { timestamp: true, hash: true }

/** The method that makes the resolvers, which webpack does not document. */
const RESOLVERS = '_createBuildDependenciesResolvers'

/** Follows dependencies. Files whose imports webpack cannot follow count without these: they must not cost the whole cache. */
export async function followAll(
  compiler: Compiler,
  info: FileSystemInfo,
  all: ReadonlySet<string>,
  optional: ReadonlySet<string>,
): Promise<Resolution> {
  const isFile = (dependency: string): boolean => isAbsolute(dependency) && !/[\\/]$/.test(dependency)
  // A file that has been removed since counts as missing, which is part of the environment.
  const mayBeMissing = new Set([...optional, ...[...all].filter((dependency) => isAbsolute(dependency))])
  try {
    return await follow(compiler, info, all, mayBeMissing)
  } catch {
    const others = new Set([...all].filter((dependency) => !isFile(dependency)))
    const resolution = await follow(compiler, info, others, mayBeMissing)
    for (const dependency of all)
      if (isFile(dependency)) (disk.existsSync(dependency) ? resolution.files : resolution.missing).add(dependency)
    return resolution
  }
}

function follow(
  { context, options }: Compiler,
  info: FileSystemInfo,
  dependencies: ReadonlySet<string>,
  optional: ReadonlySet<string>,
): Promise<Resolution> {
  return new Promise((resolve, reject) => {
    const gone = new Set<string>()
    const done = (error?: Error | null, resolution?: Resolution): void => {
      if (resolution === undefined) return reject(error ?? new Error('webpack resolved no build dependencies'))
      for (const path of gone) if (resolution.files.delete(path)) resolution.missing.add(path)
      resolve(resolution)
    }
    const view = dependencyFiles(info, new Packages(options.snapshot), gone)
    // In versions of webpack without optional build dependencies, the callback is the third parameter.
    const call =
      view.resolveBuildDependencies.length < 4 ? [context, dependencies, done] : [context, dependencies, optional, done]
    Reflect.apply(view.resolveBuildDependencies, view, call)
  })
}

/** Whether requests lead where they led before. */
export function resolveAsBefore(info: FileSystemInfo, results: Resolution['resolveResults']): Promise<boolean> {
  return new Promise((resolve) => {
    info.checkResolveResultsValid(results, (error, isValid) => resolve(!error && isValid === true))
  })
}

/** A snapshot of what was read to follow dependencies. */
export function takeSnapshot(
  info: FileSystemInfo,
  { files, directories, missing }: Resolution['resolveDependencies'],
  how: Compiler['options']['snapshot']['module'] = SNAPSHOT_OPTIONS,
): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    info.createSnapshot(undefined, files, directories, missing, how, (error, snapshot) => {
      if (snapshot === null || snapshot === undefined) reject(error ?? new Error('webpack made no snapshot'))
      else resolve(snapshot)
    })
  })
}

/** Compares a snapshot, and adds what webpack found changed to `changed`: it stops at the first difference of each kind. */
export function isUnchangedSince(info: FileSystemInfo, snapshot: Snapshot, changed: string[]): Promise<boolean> {
  const note = (path: string): void => void changed.push(path)
  const noting: FileSystemInfo = Object.create(info, { _remainingLogs: { value: 1 }, _log: { value: note } })
  return new Promise((resolve) => {
    noting.checkSnapshotValid(snapshot, (error, isValid) => resolve(!error && isValid === true))
  })
}

/** The view of `info`. Files that were removed are added to `gone`. */
export function dependencyFiles(info: FileSystemInfo, packages: Packages, gone: Set<string>): FileSystemInfo {
  const { fs } = info
  const isOfPackage = (path: string): boolean => packages.isInstalled(path) && packages.sourceOf(path) === path
  const readFile: Fs['readFile'] = (path: unknown, ...rest: unknown[]) => {
    const callback = rest.at(-1)
    if (typeof path === 'string' && gone.has(path) && typeof callback === 'function') callback(null, Buffer.alloc(0))
    else Reflect.apply(fs.readFile, fs, [path, ...rest])
  }
  const found: Map<string, Promise<string>> = new Map()
  const realPathNow = callbackify(async (path: string): Promise<string> => {
    try {
      return await realPathOf(fs, path, found)
    } catch (error) {
      if (!isMissing(error)) throw error
      gone.add(path)
      return path
    }
  })
  const realpath = (path: string, callback: (error: NodeJS.ErrnoException | null, real: string) => void): void =>
    loaded[path] !== undefined && isOfPackage(path) ? callback(null, path) : realPathNow(path, callback)
  const files: Fs = Object.create(fs, { readFile: { value: readFile }, realpath: { value: realpath } })
  const view: FileSystemInfo = Object.create(info, { fs: { value: files } })
  const make: unknown = Reflect.get(info, RESOLVERS)
  if (typeof make !== 'function') return view
  const resolvers: Resolvers = Reflect.apply(make, view, [])
  const within = {
    resolveCjs: resolvedWithin(isOfPackage, fs, byPath, resolvers.resolveCjs),
    resolveEsm: resolvedWithin(isOfPackage, fs, byPath, resolvers.resolveEsm),
    resolveCjsAsChild: resolvedWithin(isOfPackage, fs, byName, resolvers.resolveCjsAsChild),
  }
  return Object.defineProperty(view, RESOLVERS, { value: () => ({ ...resolvers, ...within }) })
}

/** Resolves files that are named by a file of the same installed package, and leaves all others to `resolve`. */
function resolvedWithin(
  isOfPackage: (path: string) => boolean,
  fs: Fs,
  pathOf: typeof byPath,
  resolve: Resolve,
): Resolve {
  return (folder, request, context, callback) => {
    const lookFor = ([path, ...others]: readonly string[]): void => {
      if (path === undefined) resolve(folder, request, context, callback)
      else if (loaded[path] !== undefined) callback(null, path, { path })
      else fs.stat(path, (_, stats) => (stats?.isFile() === true ? callback(null, path, { path }) : lookFor(others)))
    }
    const path = isOfPackage(folder) ? pathOf(folder, request) : undefined
    lookFor(path?.startsWith(`${rootOf(folder)}${sep}`) === true ? [path, `${path}.js`] : [])
  }
}

/** The path of a file of the package that this folder is in, by a relative path. */
function byPath(folder: string, request: string): string | undefined {
  return /^\.{1,2}\//.test(request) ? join(folder, request) : undefined
}

/** The path of a file of the package that this folder is in, by the name of the package and the path in it, as webpack asks for what a module has required, without `exports` of package.json. */
function byName(folder: string, request: string): string | undefined {
  const [name = ''] = /^(?:@[^/]+\/)?[^/]+/.exec(request) ?? []
  const root = rootOf(folder)
  return root.endsWith(join(sep, 'node_modules', name)) ? join(root, request.slice(name.length)) : undefined
}

/** The directory of the package that a directory is in. */
function rootOf(folder: string): string {
  return dirname(manifestOf(folder) ?? '')
}

/** The real path, by those `found` so far. `fs.realpath` decides about links, and about what cannot be read. */
function realPathOf(fs: Fs, path: string, found: Map<string, Promise<string>>): Promise<string> {
  const known = found.get(path)
  if (known !== undefined) return known
  const real =
    dirname(path) === path
      ? Promise.resolve(path)
      : realPathIn(fs, realPathOf(fs, dirname(path), found), basename(path))
  found.set(path, real)
  return real
}

async function realPathIn(fs: Fs, folder: Promise<string>, name: string): Promise<string> {
  const path = join(await folder, name)
  return new Promise((resolve, reject) => {
    fs.readlink(path, (error) => {
      if (error?.code === 'EINVAL' || fs.realpath === undefined) resolve(path)
      else fs.realpath(path, (failure, real) => (failure ? reject(failure) : resolve(String(real))))
    })
  })
}

/** In a `vm` context, as Jest makes one, errors of Node are no instances of the context's `Error`. */
function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT'
}
