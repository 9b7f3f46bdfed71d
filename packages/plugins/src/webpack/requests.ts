/**
 * Limits which modules webpack's deserialiser may load. A stream names the module of each of its classes, and webpack requires
 * that module unless it knows the class. The author of a stream therefore chooses which code runs. Streams of a cache may
 * name only modules that webpack, installed packages and loaded plugins have registered.
 *
 * The check holds for the whole process, not only for Varve's streams, because webpack reads lazy parts later and alone.
 */
import { createRequire, isBuiltin } from 'node:module'
import { isAbsolute, join, sep } from 'node:path'
import type { Compiler } from 'webpack'
import { disk } from '../host/files.ts'

const PACKAGES = '/node_modules/'

/** Cache directories, by the webpack whose deserialiser is checked. */
const checked: WeakMap<object, Set<string>> = new WeakMap()

/** Stops webpack from loading modules from the cache directory `folder`, or from outside the packages of `compiler`. */
export function checkRequests({ webpack, context }: Compiler, folder: string): void {
  const known = checked.get(webpack)
  known?.add(folder)
  if (known !== undefined) return
  const folders = new Set([folder])
  checked.set(webpack, folders)
  const { serialization } = webpack.util
  // Reading this property makes webpack register its own loader, which has to come before this one.
  void serialization.buffersSerializer
  const require = createRequire(join(context, 'package.json'))
  serialization.registerLoader(/^/, (request: string) => {
    if (isForeign(request, require, folders)) {
      throw new Error(`it names the module '${request}', which is neither loaded nor part of an installed package`)
    }
    return false // webpack continues as usual
  })
}

/** Whether a request resolves to a module that is neither loaded nor part of an installed package. */
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

/** Whether a path leads into a hidden directory in `node_modules`, as caches are, or into a cache directory. */
function isInCache(path: string, caches: Iterable<string>): boolean {
  const inPackages = path.slice(path.indexOf(PACKAGES) + PACKAGES.length)
  if (/^\.(?!pnpm\/)/.test(inPackages) || path.includes(`${PACKAGES}.cache/`)) return true
  const lower = path.toLowerCase() // file systems may ignore case
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
    return disk.realpathSync.native(path)
  } catch {
    return path
  }
}

function slashed(path: string): string {
  return sep === '\\' ? path.replaceAll('\\', '/') : path
}
