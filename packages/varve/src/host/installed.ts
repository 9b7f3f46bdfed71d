/**
 * Finds packages that are installed beside varve: the addon of this platform, `@varve/remote`, `@varve/view` and `@redis/client`. Their code
 * runs here, so it has to be as hard to replace as varve itself:
 *
 *   1. Node.js, or Plug'n'Play, resolves the package. One in a folder that belongs to no project, `NODE_PATH` or `~/.node_modules`, does not count.
 *   2. The rules of trusted directories (`health/trust.ts`) hold for every component of its path, links included. A directory that all users may write
 *      to, such as a sticky parent of the project, may have a `node_modules` of another user.
 *   3. Only regular files are read: Node.js would run `index.js` of a directory that is named `package.json` or `varve.node`.
 */
import type * as fs from 'node:fs'
import type * as module from 'node:module'
import type * as path from 'node:path'
import { VarveError } from '../errors.ts'
import { componentsOf, distrustDirectory, distrustLink } from '../health/trust.ts'
import { builtin, codeFile } from './builtin.ts'
import { userHere, variable } from './permission.ts'

/** A package that may run. */
export interface InstalledPackage {
  readonly version: string
  /** The path of a file in it. Throws INVALID_OPTION if it is none, or another user can replace it. */
  file(name: string): string
  /** The path of what an import of the package loads, or of an entry point in it such as 'describe'. Throws as `file` does. */
  entry(point?: string): string
}

interface Host {
  readonly files: typeof fs
  readonly paths: typeof path
  readonly modules: typeof module
}

function host(): Host | undefined {
  const files = builtin('node:fs')
  const paths = builtin('node:path')
  const modules = builtin('node:module')
  return files === undefined || paths === undefined || modules === undefined ? undefined : { files, paths, modules }
}

/** The package as the code in the file `from` finds it; undefined if it is not there. Throws INVALID_OPTION if another user can replace it. */
export function packageAt(name: string, from: string): InstalledPackage | undefined {
  const node = host()
  const manifest = node === undefined ? undefined : resolved(node, from, `${name}/package.json`)
  if (node === undefined || manifest === undefined) return undefined
  const { files, paths } = node
  const found = nearest(node, name, from)
  const isNearest = found !== undefined && isSame(node, paths.join(found, 'package.json'), manifest)
  const isGlobal = globalFolders(node).some((each) => isSame(node, paths.join(each, name, 'package.json'), manifest))
  if (!isNearest && isGlobal) return undefined
  const folder = isNearest ? found : paths.dirname(manifest)
  const file = (of: string): string => {
    const inside = paths.join(folder, of)
    const why = whyNot(node, inside)
    if (why === undefined) return files.realpathSync(inside)
    throw new VarveError('INVALID_OPTION', `'${name}' is not used: ${why}; install it in the project with 'npm ci'`)
  }
  return {
    version: versionIn(files.readFileSync(file('package.json'), 'utf8')),
    file,
    entry: (point) => {
      const entry = resolved(node, from, point === undefined ? name : `${name}/${point}`)
      if (entry !== undefined) return file(paths.relative(files.realpathSync(folder), files.realpathSync(entry)))
      const why = `'${name}' in '${folder}' cannot be loaded`
      throw new VarveError('INVALID_OPTION', `${why}; run 'npm install --save-dev ${name}'`)
    },
  }
}

/**
 * The URL of a package whose code may run here, or of its entry point `point`: as the project has installed it, or else as the file
 * `importer` finds it, a path or URL of a file, by default one of Varve. For packages that Varve imports only if they are installed. Throws
 * INVALID_OPTION if it is missing, or if another user can replace its code.
 */
export function installedPackage(name: string, importer: string | undefined = codeFile(), point?: string): string {
  const urls = builtin('node:url')
  const paths = builtin('node:path')
  const project = paths?.join(globalThis.process.cwd(), 'package.json')
  const beside = importer?.startsWith('file:') === true ? urls?.fileURLToPath(importer) : importer
  let refused: unknown
  for (const from of [project, beside]) {
    try {
      const found = from === undefined ? undefined : packageAt(name, from)
      if (found !== undefined) return urls?.pathToFileURL(found.entry(point)).href ?? ''
    } catch (error) {
      refused ??= error
    }
  }
  throw refused ?? new VarveError('INVALID_OPTION', `'${name}' is not installed; run 'npm install --save-dev ${name}'`)
}

/** The file that a request leads to; undefined if there is none. */
function resolved({ modules }: Host, from: string, request: string): string | undefined {
  try {
    return modules.createRequire(from).resolve(request)
  } catch {
    return undefined
  }
}

/** The package in the nearest `node_modules` above a file. */
function nearest({ files, paths }: Host, name: string, from: string): string | undefined {
  for (let at = paths.dirname(from); ; at = paths.dirname(at)) {
    const folder = paths.join(at, 'node_modules', name)
    if (paths.basename(at) !== 'node_modules' && files.existsSync(paths.join(folder, 'package.json'))) return folder
    if (paths.dirname(at) === at) return undefined
  }
}

/** The folders in which Node.js looks after those of the project. */
function globalFolders({ paths }: Host): string[] {
  const homes = [variable('HOME'), variable('USERPROFILE')].filter((home) => home !== undefined && home !== '')
  const prefix = paths.dirname(globalThis.process.execPath)
  return [
    ...(variable('NODE_PATH') ?? '').split(paths.delimiter).filter((folder) => folder !== ''),
    ...homes.flatMap((home = '') => [paths.join(home, '.node_modules'), paths.join(home, '.node_libraries')]),
    paths.join(prefix, 'lib/node'),
    paths.join(prefix, '../lib/node'),
  ]
}

function isSame({ files }: Host, one: string, other: string): boolean {
  try {
    return one === other || files.realpathSync(one) === files.realpathSync(other)
  } catch {
    return false
  }
}

/** Why code of this file does not run here; undefined if it may. */
function whyNot({ files }: Host, path: string): string | undefined {
  const user = userHere()
  // Plug'n'Play has packages in archives, within which the system has no files.
  const isArchived = globalThis.process.versions['pnp'] !== undefined
  if (!isArchived && files.statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    return `'${path}' is not a file`
  if (typeof user !== 'number') return undefined // the system reports no owners
  const opener = { files, user, isShared: false }
  const components = componentsOf(path, files)
  for (let step = components.next(); step.done !== true; step = components.next()) {
    const distrust = step.value.stats.isSymbolicLink()
      ? distrustLink(step.value, opener)
      : distrustDirectory(step.value, false, opener)
    if (distrust !== undefined) return distrust.why
  }
  return undefined
}

function versionIn(manifest: string): string {
  try {
    const value: unknown = JSON.parse(manifest)
    const version: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'version') : undefined
    return typeof version === 'string' ? version : ''
  } catch {
    return ''
  }
}
