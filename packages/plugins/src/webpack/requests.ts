/**
 * Which modules webpack's deserialiser may load. A stream names the module of each class in it, and webpack requires that
 * module if its class is not known yet: whoever wrote the stream chose the code. Streams of a cache may name what webpack,
 * installed packages and the loaded plugins registered, and nothing else.
 *
 * The check stands for the whole process and not only for our streams: lazy parts are read later, by webpack alone.
 */
import { realpathSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { isAbsolute, join, sep } from 'node:path'
import type { Compiler } from 'webpack'

const PACKAGES = '/node_modules/'

/** Folders of caches by the webpack whose deserialiser is checked. */
const checked: WeakMap<object, Set<string>> = new WeakMap()

/** Has webpack load no module from `folder`, which is that of a cache, or from beside the packages of `compiler`. */
export function checkRequests({ webpack, context }: Compiler, folder: string): void {
  const known = checked.get(webpack)
  known?.add(folder)
  if (known !== undefined) return
  const folders = new Set([folder])
  checked.set(webpack, folders)
  const { serialization } = webpack.util
  // webpack registers its own loader here, which has to be asked before this one.
  void serialization.buffersSerializer
  const require = createRequire(join(context, 'package.json'))
  serialization.registerLoader(/^/, (request: string) => {
    if (isForeign(request, require, folders)) {
      throw new Error(`it names the module '${request}', which is neither loaded nor part of an installed package`)
    }
    return false // webpack goes on as always
  })
}

/** Whether a request leads to a module that is neither loaded nor part of an installed package. */
export function isForeign(request: string, require: NodeJS.Require, caches: Iterable<string>): boolean {
  const text = slashed(request)
  if (isBuiltin(request) || /(?:^|\/)\.{1,2}(?:\/|$)/.test(text) || text.startsWith('.')) return true
  if (!isAbsolute(request)) return isInCache(`${PACKAGES}${text}`, caches)
  const file = resolved(request, require)
  if (file !== undefined && require.cache[file] !== undefined) return false
  const real = slashed(realPath(file ?? request))
  const homes = (require.resolve.paths('x') ?? []).flatMap((home) => [home, realPath(home)]).map(slashed)
  const isInstalled = homes.some((home) => home.endsWith('/node_modules') && real.startsWith(`${home}/`))
  return !isInstalled || isInCache(real, caches)
}

/** Whether a path leads into a hidden folder beside packages, as caches are, or into the folder of a cache. */
function isInCache(path: string, caches: Iterable<string>): boolean {
  const inPackages = path.slice(path.indexOf(PACKAGES) + PACKAGES.length)
  if (/^\.(?!pnpm\/)/.test(inPackages) || path.includes(`${PACKAGES}.cache/`)) return true
  const lower = path.toLowerCase() // file systems may not tell the two apart
  for (const cache of caches) {
    const folder = slashed(realPath(cache)).toLowerCase()
    const asPackage = folder.includes(PACKAGES) ? folder.slice(folder.lastIndexOf(PACKAGES)) : folder
    if (`${lower}/`.startsWith(`${folder}/`) || `${lower}/`.startsWith(`${asPackage}/`)) return true
  }
  return false
}

function resolved(request: string, require: NodeJS.Require): string | undefined {
  try {
    return require.resolve(request)
  } catch {
    return undefined
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

function slashed(path: string): string {
  return sep === '\\' ? path.replaceAll('\\', '/') : path
}
