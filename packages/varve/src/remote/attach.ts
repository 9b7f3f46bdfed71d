/**
 * Puts the layers of a remote below a cache: option `remote`, or else VARVE_REMOTE. Nothing here fails `openCache`: a problem is one warning
 * for the process, and the cache opens over the layers that are on this machine.
 *
 *   1. A directory for layers that another user could replace is neither read nor written.
 *   2. With VARVE_OFFLINE, `readOnly`, or a directory that cannot be written, the layers of the last head are used as they are.
 *   3. Otherwise the remote fetches what is missing; `openCache` waits for it, because bundlers read their cache at once.
 */
import { toVarveError, VarveError } from '../errors.ts'
import { examine } from '../health/place.ts'
import { cachesAbove, type TrustDomain } from '../health/domain.ts'
import { builtin } from '../host/builtin.ts'
import { ownEnv, nowMs } from '../host/own.ts'
import { variable } from '../host/permission.ts'
import type { CacheOptions } from '../options.ts'
import { installedPackage } from '../host/installed.ts'
import type { CacheRemote, PublishedCache, RemoteReport } from './remote.ts'
import { jsonOf } from '../values/json.ts'

/** A remote below a cache. */
export interface Attachment {
  readonly layers: readonly string[]
  readonly domain: TrustDomain
  /** What opening knows of it. */
  readonly report: Omit<RemoteReport, 'hits'>
  readonly warning: VarveError | undefined
  /** Resolves to a warning if fetching in the background has failed. */
  readonly later?: Promise<VarveError | undefined> | undefined
  /** Removes damaged layers, so that the next build fetches them again. Undefined if the remote is not asked. */
  readonly discard?: ((paths: readonly string[]) => Promise<void>) | undefined
  /** Resolves to a warning if it fails. Undefined if the remote is only read. */
  readonly publish: ((cache: PublishedCache) => Promise<VarveError | undefined>) | undefined
}

export type Opening = Pick<CacheOptions, 'name' | 'remote' | 'readOnly' | 'shared'> & { readonly dir: string }

/** Problems that were reported in this process. */
const reported: WeakSet<Error> = new WeakSet()

/** The remotes of the environment by what decides them, so that all caches of this process share one with its health. */
const opened: Map<string, Promise<CacheRemote | undefined>> = new Map()

/** Undefined if there is no remote. */
export async function attachRemote(opening: Opening): Promise<Attachment | undefined> {
  const startMs = nowMs()
  try {
    const remote = opening.remote === undefined ? await environmentRemote(opening.dir) : opening.remote
    return remote === undefined || remote === false || remote.isOff === true
      ? undefined
      : await attachTo(remote, opening, startMs)
  } catch (error) {
    return failed(toVarveError(error), startMs, 'trusted') // without layers
  }
}

async function attachTo(
  remote: CacheRemote,
  { name, shared, readOnly = false }: Opening,
  startMs: number,
): Promise<Attachment> {
  const isAsked = !readOnly && !isOffline()
  const { degraded } = examine(remote.dir, '', { shared, readOnly: !isAsked })
  if (degraded?.mode === 'memory') {
    return failed(new VarveError(degraded.code, `${degraded.why}; ${degraded.fix}`), startMs, remote.domain)
  }
  const offline = !isAsked || degraded !== undefined
  const { paths, fetchedBytes, problem, later } = await remote.attach(name, { offline })
  return {
    layers: paths,
    domain: remote.domain,
    report: {
      store: remote.label,
      state: problem !== undefined ? 'failed' : offline ? 'offline' : later !== undefined ? 'fetching' : 'current',
      problem: problem?.message ?? null,
      layers: paths.length,
      fetchedBytes,
      waitMs: nowMs() - startMs,
    },
    warning: warningOf(NOT_NEWEST, problem),
    later: later?.then((failure) => warningOf(NOT_NEWEST, failure)),
    discard: offline ? undefined : remote.discard?.bind(remote),
    publish:
      offline || !remote.publishes ? undefined : (cache) => remote.publish(cache).then(() => undefined, unpublished),
  }
}

function failed(problem: VarveError, startMs: number, domain: TrustDomain): Attachment {
  const report = {
    store: '',
    state: 'failed',
    problem: problem.message,
    layers: 0,
    fetchedBytes: 0,
    waitMs: nowMs() - startMs,
  } as const
  return { layers: [], domain, report, warning: warningOf('it is not used', problem), publish: undefined }
}

const MORE_TIME = ". Run 'npx varve remote pull' to wait longer, or set VARVE_OFFLINE=1 to build without it"
const WITHOUT = '. Set VARVE_OFFLINE=1 to build without it'

const NOT_NEWEST = 'its newest state is not used'

function warningOf(effect: string, problem: Error | undefined): VarveError | undefined {
  if (problem === undefined || reported.has(problem)) return undefined
  reported.add(problem)
  const { code, message } = toVarveError(problem)
  const isLate = problem.cause instanceof Error && problem.cause.name === 'TimeoutError'
  const fix = code !== 'REMOTE_UNAVAILABLE' ? '' : isLate ? MORE_TIME : WITHOUT
  return new VarveError(code, `remote: ${effect}: ${message}${fix}`, { cause: problem })
}

function unpublished(error: unknown): VarveError {
  const { code, message } = toVarveError(error)
  const later = code === 'REMOTE_UNTRUSTED' ? '' : ', which the next build publishes'
  return new VarveError(code, `remote: it lacks what this build has added${later}: ${message}`, { cause: error })
}

/** Whether the environment forbids connections. */
export function isOffline(): boolean {
  return ![undefined, '', '0'].includes(variable('VARVE_OFFLINE'))
}

/** The part of `@varve/remote` that is used here. */
interface RemotePackage {
  remoteFromEnvironment(environment: NodeJS.ProcessEnv, options: { readonly dir: string }): CacheRemote | undefined
}

/** The remote of the environment, with its layers beside the directory of the cache. */
function environmentRemote(dir: string): Promise<CacheRemote | undefined> {
  const dirOfLayers = builtin('node:path')?.join(cachesAbove(dir), '.remote') ?? ''
  const deciding = Object.entries(ownEnv()).filter(([name]) => /^(?:VARVE|AWS)_/.test(name))
  const id = jsonOf([dirOfLayers, ...deciding])
  const found = opened.get(id)
  if (found !== undefined) return found
  const opening = openEnvironmentRemote(dirOfLayers)
  opened.set(id, opening)
  return opening
}

async function openEnvironmentRemote(dir: string): Promise<CacheRemote | undefined> {
  const { remoteFromEnvironment }: RemotePackage = await import(
    /* webpackIgnore: true */ installedPackage('@varve/remote')
  )
  return remoteFromEnvironment(ownEnv(), { dir })
}
