/** Finds and opens the caches that a command names. Commands that only read write nothing. */
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import type { CacheReport, EachReports } from '../../cli-json.ts'
import { loadEngine } from '../../engine/load.ts'
import { toVarveError, VarveError } from '../../errors.ts'
import { cachesDirectory, GIT } from '../../health/directory.ts'
import { cachesAbove, domainOf, domainOver, type TrustDomain, untrustedIn } from '../../health/domain.ts'
import { Place } from '../../health/place.ts'
import { secretOf } from '../../health/secret.ts'
import { FORMAT_FILES, FORMAT_FOLDER, isOfVarve, SECRET_FOLDER } from '../../host/format.ts'
import { layersBelow } from '../../remote/layers.ts'
import { Session } from '../../session/session.ts'
import type { CommonOptions } from '../command.ts'
import { escapeText } from '../output/escape.ts'
import { write, writeCaches } from '../output/output.ts'
import { disk } from '../../host/disk.ts'

/** Size limit for commands that must not evict entries. */
const NO_CAP = Number.MAX_SAFE_INTEGER

let isShared = false

/** Whether directories of other users are used; see option `shared` of `openCache`. */
export function trustsShared(): boolean {
  return isShared
}

/** Option `--shared`. */
export function trustShared(): void {
  isShared = true
}

/** One open cache, and what is known of its engine. */
export interface OpenFolder {
  readonly session: Session
  readonly engine: 'native' | 'wasm'
  readonly reason: string
  readonly domain: TrustDomain
}

export function isCache(dir: string): boolean {
  const isAuthenticated = hasSecret()
  const folders = filesIn(dir).filter((name) => (isAuthenticated ? SECRET_FOLDER.test(name) : name === FORMAT_FOLDER))
  return folders.some((name) => isFormat(join(dir, name)))
}

/** Whether a directory is one of the format: a name alone does not show who wrote a file. */
export function isFormat(folder: string): boolean {
  return filesIn(folder).some((name) => FORMAT_FILES.test(name) && isOfVarve(disk, join(folder, name)))
}

/** Throws INVALID_ARGUMENT if VARVE_SECRET is too short. */
function hasSecret(): boolean {
  return secretOf().bytes !== undefined
}

/** The directory that `--dir` names. */
export function folderOf(given: string | undefined): string {
  return given === undefined ? cachesDirectory() : given === GIT ? cachesDirectory(GIT) : resolve(given)
}

/** Absolute paths of the caches that `--dir` names: the directory itself, otherwise the caches in it. Throws NOT_A_CACHE. */
export function findCaches(given: string | undefined): string[] {
  const folder = folderOf(given)
  if (isCache(folder)) return [folder]
  const found = cachesIn(folder)
  if (found.length === 0) throw notACache(folder)
  return found
}

/** The caches in a directory, those of both domains. */
function cachesIn(folder: string): string[] {
  return [folder, untrustedIn(folder)]
    .flatMap((caches) => filesIn(caches).map((name) => join(caches, name)))
    .filter((path) => isCache(path))
    .sort()
}

/** The same, or if there is none, those of which this machine has layers only: it has never written to them. */
export function findReadable(given: string | undefined): string[] {
  const folder = folderOf(given)
  if (isCache(folder) || cachesIn(folder).length > 0) return findCaches(given)
  const isItself = layerFolders(dirname(folder)).some((each) => isCache(join(each, basename(folder))))
  const layered = isItself ? [folder] : given === undefined || disk.existsSync(folder) ? onlyLayers(folder) : []
  return layered.length > 0 ? layered : findCaches(given)
}

/** The cache that `--dir` names. Throws INVALID_OPTION if there are several. */
export function findCache(given: string | undefined, find: typeof findCaches = findCaches): string {
  const [first, ...others] = find(given)
  if (first !== undefined && others.length === 0) return first
  const list = [first, ...others].map((path) => `  --dir ${escapeText(path ?? '')}`).join('\n')
  throw new VarveError('INVALID_OPTION', `there are several caches; choose one:\n${list}`)
}

/** Opens a cache read-only, reads from it, closes it. */
export async function inspect<T>(dir: string, look: (open: OpenFolder) => Promise<T>): Promise<T> {
  return used(await openFolder(dir, true, NO_CAP), look)
}

/** Opens a cache, changes it, closes it; `maxBytes` is its size limit from then on. */
export async function change<T>(
  dir: string,
  work: (open: OpenFolder) => Promise<T>,
  maxBytes: number = NO_CAP,
): Promise<T> {
  return used(await openFolder(dir, false, maxBytes), work)
}

async function used<T>(open: OpenFolder, use: (open: OpenFolder) => Promise<T>): Promise<T> {
  try {
    return await use(open)
  } finally {
    await open.session.close()
  }
}

async function openFolder(dir: string, readOnly: boolean, maxBytes: number): Promise<OpenFolder> {
  try {
    const { engine, reason } = await loadEngine({ engine: 'auto', dir })
    const { bytes: secret, warning } = secretOf()
    if (readOnly && secret !== undefined && !isFormat(join(dir, engine.folderName(secret)))) throw otherSecret(dir)
    const place = new Place(dir, engine.folderName(secret), { readOnly, shared: isShared })
    const barred = place.check(false)
    if (barred !== undefined)
      throw new VarveError(barred.code, `the cache in '${dir}' is not used: ${barred.why}; ${barred.fix}`)
    // `readOnly`: of the remote, those that are on this machine
    const above = { name: basename(dir), dir, shared: isShared, readOnly: true }
    const { layers: found, warnings } = await layersBelow(above, engine.folderName(secret))
    // A build over untrusted layers does not use the cache of trusted builds.
    const isKept = !readOnly || isFormat(join(dir, engine.folderName(secret)))
    const isTrusted = isKept && domainOf(dir) === 'trusted'
    const layers = found.filter((layer) => !isTrusted || domainOf(layer) === 'trusted')
    const store = await engine.open(dir, { durability: 'relaxed', readOnly, maxBytes, secret, layers })
    const onWarning = ({ message }: VarveError): void => void process.stderr.write(`warning: ${escapeText(message)}\n`)
    const session = new Session(store, { onWarning }, place)
    for (const one of [warning ?? [], warnings].flat()) session.warn(one)
    const domain = domainOf(dir) === 'untrusted' ? 'untrusted' : domainOver(layers)
    return { session, engine: engine.name, reason, domain }
  } catch (error) {
    throw toVarveError(error)
  }
}

function otherSecret(dir: string): VarveError {
  return new VarveError(
    'NOT_A_CACHE',
    `the cache in '${escapeText(dir)}' was written with another secret than VARVE_SECRET`,
  )
}

function notACache(folder: string): VarveError {
  const where = escapeText(folder)
  if (!disk.existsSync(folder))
    return new VarveError('NOT_A_CACHE', `no cache: the directory '${where}' does not exist; name another with --dir`)
  if (hasSecret()) {
    return new VarveError(
      'NOT_A_CACHE',
      `no cache in '${where}' was written with a secret; unset VARVE_SECRET or name another directory with --dir`,
    )
  }
  if (filesIn(folder).some((name) => SECRET_FOLDER.test(name))) {
    return new VarveError('NOT_A_CACHE', `the cache in '${where}' was written with a secret; set VARVE_SECRET to it`)
  }
  const other = filesIn(folder).find((name) => /^v\d+$/.test(name) && name !== FORMAT_FOLDER)
  const found = other === undefined ? '' : ` (there is '${other}', of another version of varve)`
  return new VarveError(
    'NOT_A_CACHE',
    `no cache in '${where}': looked there and in the directories directly in it for a manifest, log or table of Varve ` +
      `in '${FORMAT_FOLDER}'${found}; name another directory with --dir`,
  )
}

/** The caches of a directory that have layers of VARVE_LAYERS or of the remote. */
function onlyLayers(folder: string): string[] {
  const names = layerFolders(folder).flatMap((each) => filesIn(each).filter((name) => isCache(join(each, name))))
  return [...new Set(names)].sort().map((name) => join(folder, name))
}

/** Directories that have a layer for each cache by its name. */
function layerFolders(caches: string): string[] {
  const { VARVE_LAYERS: listed = '', VARVE_REMOTE: remote = '' } = process.env
  const below = join(cachesAbove(join(caches, 'any')), '.remote')
  const fetched = remote === '' ? [] : filesIn(below).map((name) => join(below, name))
  return [
    ...listed
      .split(delimiter)
      .filter((path) => path !== '')
      .map((path) => resolve(path)),
    ...fetched,
  ]
}

/** Names in a directory; none if it cannot be read. */
function filesIn(folder: string): string[] {
  try {
    return disk.readdirSync(folder)
  } catch {
    return []
  }
}

/** Runs and then writes all reports: as JSON with the folder of each, or as its folder and `textOf`. Returns them. `find` names the caches. */
export async function reportEach<Name extends keyof EachReports>(
  name: Name,
  { dir: given, json }: CommonOptions,
  run: (dir: string) => Promise<EachReports[Name]>,
  textOf: (report: EachReports[Name]) => string,
  find: typeof findCaches = findCaches,
): Promise<readonly EachReports[Name][]> {
  const found: CacheReport<EachReports[Name]>[] = []
  for (const dir of find(given)) found.push({ dir, ...(await run(dir)) })
  if (json === true) await writeCaches(name, found)
  else for (const report of found) await write(`${escapeText(report.dir)}\n${textOf(report)}`)
  return found
}
