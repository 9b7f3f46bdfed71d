/** What has changed since webpack stored something, in words: versions of packages, values of DefinePlugin, inputs of a compiler. */
import { join } from 'node:path'
import { digestOfInput, shownOf } from 'varve/reads'
import type { Compilation, Module } from 'webpack'
import { isInstalled } from '../build/modules.ts'
import { LEADS_TO, linkOf } from './packages.ts'
import { disk } from '../host/files.ts'

/** Packages of a snapshot whose versions are compared, and nested snapshots. */
const PACKAGES_MAX = 5000
const DEPTH_MAX = 50

/** Begins the names that DefinePlugin gives to values. */
const DEFINED = 'webpack/DefinePlugin '

/** Digests or short values of named inputs. */
export type NamedDigests = Readonly<Record<string, string>>

/** A change of a value as a phrase. The digests may show the values. */
export function changeOf(name: string, before: string | undefined, now: string | undefined): string {
  const [old, present] = [shownOf(before), shownOf(now)]
  return old === undefined || present === undefined ? `${name} changed` : `${name} ${old} -> ${present}`
}

/** The changes of named inputs. */
export function changesOf(before: NamedDigests, now: NamedDigests): string[] {
  const names = Object.keys(now).filter((name) => before[name] !== undefined && before[name] !== now[name])
  return names.map((name) => changeOf(name, before[name], now[name]))
}

/** Named digests in a text; none if it has another form. */
export function readNamed(json: string): NamedDigests {
  try {
    const value: unknown = JSON.parse(json)
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
    return Object.fromEntries(entries.filter(([, digest]) => typeof digest === 'string'))
  } catch {
    return {}
  }
}

/** Packages in a snapshot that are installed in another version, by path. */
export function changedPackages(snapshot: unknown): Map<string, string> {
  const changed = new Map<string, string>()
  let count = 0
  for (const [path, before] of foundIn(snapshot, 'managedItemInfo', 0)) {
    if (typeof before !== 'string' || !before.includes('@')) continue
    const now = installedAt(path)
    if (now !== before) changed.set(path, wordsOf(before, now))
    if (++count === PACKAGES_MAX) break
  }
  return changed
}

/** The values of DefinePlugin that a module uses. */
export function valuesOf({ buildInfo }: Module): Readonly<Record<string, string>> {
  const values: unknown = buildInfo && Reflect.get(buildInfo, 'valueDependencies')
  return values instanceof Map ? Object.fromEntries([...values].flatMap(([key]) => definedValue(key, values))) : {}
}

/** Why a module that was restored is built again; undefined if it is not known here. Call it before the module is built. */
export function causeOf(module: Module, { valueCacheVersions }: Compilation): string | undefined {
  const before = valuesOf(module)
  for (const [name, old] of Object.entries(before)) {
    const now = valueCacheVersions.get(`${DEFINED}${name.slice('define '.length)}`)
    if (typeof now === 'string' && now !== old)
      return changeOf(name, digestOfInput(old, name), digestOfInput(now, name))
  }
  const resource: unknown = Reflect.get(module, 'resource')
  if (typeof resource !== 'string' || !isInstalled(resource)) return undefined
  return [...changedPackages(module.buildInfo?.snapshot).values()][0]
}

function definedValue(key: unknown, values: ReadonlyMap<unknown, unknown>): [name: string, text: string][] {
  const text = values.get(key)
  return typeof key === 'string' && key.startsWith(DEFINED) && typeof text === 'string'
    ? [[`define ${key.slice(DEFINED.length)}`, text]]
    : []
}

/** The paths that a snapshot found missing. */
export function missingIn(snapshot: unknown): string[] {
  return [...foundIn(snapshot, 'missingExistence', 0)].flatMap(([path, exists]) => (exists === false ? [path] : []))
}

/** What a snapshot and those that it shares have of each path. */
function* foundIn(
  snapshot: unknown,
  field: 'managedItemInfo' | 'missingExistence',
  depth: number,
): Generator<[path: string, found: unknown]> {
  if (typeof snapshot !== 'object' || snapshot === null || depth > DEPTH_MAX) return
  const found: unknown = Reflect.get(snapshot, field)
  for (const [path, one] of found instanceof Map ? found : []) if (typeof path === 'string') yield [path, one]
  const children: unknown = Reflect.get(snapshot, 'children')
  for (const child of children instanceof Set ? children : []) yield* foundIn(child, field, depth + 1)
}

/** Name and version of an installed package, as webpack writes them; empty if there is none. */
function installedAt(path: string): string {
  try {
    const { name, version }: { name?: unknown; version?: unknown } = JSON.parse(
      disk.readFileSync(join(path, 'package.json'), 'utf8'),
    )
    return `${String(name ?? '')}@${String(version ?? '')}${linkOf(path)}`
  } catch {
    return ''
  }
}

function wordsOf(before: string, now: string): string {
  const [name, old] = partsOf(before)
  const [, version] = partsOf(now)
  if (now === '') return `${name} is gone`
  return old === version ? `${name} ${old} is another copy` : `${name} ${old} -> ${version}`
}

function partsOf(info: string): [name: string, version: string] {
  const [identity = ''] = info.split(LEADS_TO, 1)
  const at = identity.lastIndexOf('@')
  return [identity.slice(0, at), identity.slice(at + 1, at + 40)]
}
