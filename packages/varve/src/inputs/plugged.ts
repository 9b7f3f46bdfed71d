/**
 * Packages that Yarn Plug'n'Play supplies. They lie in zip archives whose paths have the version, and an archive stays as long as anything
 * uses it. So the content of a package decides nothing: what it is replaced by is at another path. What decides is which packages get
 * which versions, as the API of Plug'n'Play knows them:
 *
 *   a package at a path      its own version, the versions of all its dependencies, and the versions of this name that workspaces get
 *   nothing at that path     the versions of the packages of that name
 *
 * Every package that a package loads is read as well, so together they cover all that code of packages gets from each other.
 */
import { builtin } from '../host/builtin.ts'
import { digestOfFile } from './digest.ts'
import { packageOf } from './literal.ts'

/** Name and reference of a package, such as `npm:4.2.0`. */
interface Locator {
  readonly name: string | null
  readonly reference: string | null
}

/** What is used of the API; `packageDependencies` has references by name, or another name and its reference. */
interface PlugnplayApi {
  findPackageLocator(path: string): Locator | null
  getPackageInformation(locator: Locator): { readonly packageDependencies: ReadonlyMap<string, unknown> } | null
  getDependencyTreeRoots(): readonly Locator[]
  getAllLocators?(): readonly Locator[]
}

/** An archive in a cache of Yarn: the hash of what it was made from, and that of its content or the version of the cache. */
const ARCHIVE = /-[\da-f]{10}-[\da-z]+\.zip$/
const VERSION = /(?:\bnpm:|\bversion=)([\w.+-]+)/g

/** Whether this process has packages of Plug'n'Play. */
export function isPlugged(): boolean {
  return globalThis.process.versions['pnp'] !== undefined
}

/** Whether a path is an archive, which Yarn reads on behalf of code that reads a package in it. */
export function isArchive(path: string): boolean {
  return isPlugged() && ARCHIVE.test(path)
}

/** The digest of the package whose manifest, absolute, would be at that path. */
export function digestOfPlugged(manifest: string): string {
  const api = apiFor(manifest)
  const name = packageOf(manifest)
  if (api === undefined || name === undefined) return 'missing'
  const workspaces = api.getDependencyTreeRoots().map((root) => dependenciesOf(api, root).get(name))
  const found = api.findPackageLocator(manifest)
  // The archive of another version: the folder around it belongs to the project.
  if (found?.name !== name)
    return digestOfVersions(
      manifest,
      (api.getAllLocators?.() ?? []).filter((one) => one.name === name),
      workspaces,
    )
  return digestOfVersions(manifest, [found], [workspaces, ...dependenciesOf(api, found)])
}

/** A digest that shows the versions. */
function digestOfVersions(manifest: string, packages: readonly Locator[], decides: readonly unknown[]): string {
  if (packages.length === 0) return 'missing'
  const references = packages.map(({ reference }) => reference ?? '').sort()
  const version = [...new Set(references.map(versionOf))].sort().join('+')
  return digestOfFile(manifest, Buffer.from(JSON.stringify({ version, references, decides })))
}

function dependenciesOf(api: PlugnplayApi, locator: Locator): ReadonlyMap<string, unknown> {
  return api.getPackageInformation(locator)?.packageDependencies ?? new Map()
}

/** The version in a reference; empty if it has none, as that of a folder. */
function versionOf(reference: string): string {
  return Array.from(reference.matchAll(VERSION), ([, version]) => version).at(-1) ?? ''
}

/** The API of the project that this process runs in, or else of that which has the path. */
function apiFor(path: string): PlugnplayApi | undefined {
  const find: unknown = Reflect.get(builtin('node:module') ?? {}, 'findPnpApi')
  if (typeof find !== 'function') return undefined
  const found: unknown = find(`${globalThis.process.cwd()}/`) ?? find(path)
  return isApi(found) ? found : undefined
}

function isApi(value: unknown): value is PlugnplayApi {
  return (
    typeof value === 'object' && value !== null && 'findPackageLocator' in value && 'getDependencyTreeRoots' in value
  )
}
