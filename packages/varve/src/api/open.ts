/** Opens a cache in three steps: `resolveOptions`, `openStore`, and a `Cache` made of both. */
import { toVarveError } from '../errors.ts'
import { degradedWarning } from '../health/place.ts'
import type { CacheOptions } from '../options.ts'
import { unrecorded } from '../reads/sink.ts'
import { Session } from '../session/session.ts'
import { Cache } from './cache.ts'
import { type ResolvedOptions, resolveOptions, type OpenedStore, openStore } from './store.ts'

/**
 * Opens the cache of a tool. The first commit creates the cache directory. Several processes and worker threads may have
 * the cache open at the same time, and read and write it.
 *
 * Rejects with INVALID_OPTION, INVALID_ARGUMENT (a short `secret`), SECRET_MISSING, ENGINE_UNAVAILABLE, NEWER_FORMAT or IO. A damaged cache
 * opens, with its damaged entries as misses. If the directory cannot be used or written, or this process cannot start WebAssembly, the cache
 * opens as well: `status().degraded` and one warning give the reason and the fix.
 *
 * @example
 * await using cache = await openCache({ name: 'my-tool', version: '1.2.0', maxBytes: '500MB' })
 */
export function openCache(options: CacheOptions): Promise<Cache> {
  return unrecorded(async () => {
    const resolved = resolveOptions(options)
    try {
      const opened = await openStore(resolved)
      const session = await startSession(resolved, opened)
      return new Cache({ options: resolved, opened, session })
    } catch (error) {
      throw toVarveError(error)
    }
  })
}

/** Starts the session of a store, and reports what opening has found. If damage is an error, closes the store first. */
async function startSession(options: ResolvedOptions, opened: OpenedStore): Promise<Session> {
  const { store, place, remote, degraded } = opened
  const session = new Session(store, options, place, remote?.discard === undefined ? [] : remote.layers)
  try {
    session.lookForDamage()
  } catch (error) {
    await session.close()
    throw error
  }
  if (options.secret.warning !== undefined) session.warn(options.secret.warning)
  if (opened.engineWarning !== undefined) session.warn(opened.engineWarning, 'engine')
  if (degraded !== undefined) session.warn(degradedWarning(degraded), 'degraded')
  for (const warning of opened.layerWarnings) session.warn(warning)
  void remote?.later?.then((warning) => warning !== undefined && session.warn(warning))
  return session
}
