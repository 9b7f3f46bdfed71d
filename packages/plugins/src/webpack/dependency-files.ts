/**
 * webpack's view of the file system for following build dependencies.
 *
 * - A loaded module whose file has been removed has no imports in it. Without this, one such file would prevent the whole build
 *   from being cached.
 * - The real path of a file is made from that of its directory. webpack's resolver has looked for links at most of these paths
 *   already; `fs.realpath` looks at each directory again for each file, which is 10,443 calls for the 1,300 files of Babel.
 */
import { basename, dirname, join } from 'node:path'
import { callbackify } from 'node:util'
import type { Compilation } from 'webpack'

/** webpack's view of the file system, including what this build has read so far. */
export type FileSystemInfo = Compilation['fileSystemInfo']
type Fs = FileSystemInfo['fs']

/** The view of `info`. Files that were removed are added to `gone`. */
export function dependencyFiles(info: FileSystemInfo, gone: Set<string>): FileSystemInfo {
  const { fs } = info
  const readFile: Fs['readFile'] = (path: unknown, ...rest: unknown[]) => {
    const callback = rest.at(-1)
    if (typeof path === 'string' && gone.has(path) && typeof callback === 'function') callback(null, Buffer.alloc(0))
    else Reflect.apply(fs.readFile, fs, [path, ...rest])
  }
  const found: Map<string, Promise<string>> = new Map()
  const realpath = callbackify(async (path: string): Promise<string> => {
    try {
      return await realPathOf(fs, path, found)
    } catch (error) {
      if (!isMissing(error)) throw error
      gone.add(path)
      return path
    }
  })
  const files: Fs = Object.create(fs, { readFile: { value: readFile }, realpath: { value: realpath } })
  return Object.create(info, { fs: { value: files } })
}

/** The real path, by those `found` so far. `fs.realpath` decides about links, and about what cannot be read. */
function realPathOf(fs: Fs, path: string, found: Map<string, Promise<string>>): Promise<string> {
  const known = found.get(path)
  if (known !== undefined) return known
  const real = dirname(path) === path ? Promise.resolve(path) : realPathIn(fs, realPathOf(fs, dirname(path), found), basename(path))
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
