/**
 * A remote for caches: `openCache({ remote })`, and VARVE_REMOTE. It never slows or fails a build:
 *
 *   1. A head that does not arrive within `HEAD_MS` is not waited for. All waiting of this process is at most `WAIT_MS`.
 *   2. After a failure this process asks the remote no more. Its caches use the layers on this machine: those of the last head
 *      up to the first that is missing, or those of the last head that was fetched completely, whichever are more.
 *   3. With prefetch `'lazy'`, nothing is waited for: the fetch begins with the cache, and takes of the same budget in the background.
 *   4. A cache that is closed publishes for at most `PUBLISH_MS`. After a failure this process publishes no more, and still reads. If no head
 *      arrived, it publishes nothing, because it would have to ask for the head again.
 */
import { basename, dirname } from 'node:path'
import { type AttachedLayers, type CacheRemote, type PublishedCache, VarveError } from 'varve'
import { dropDamaged, readStoredHead, writeStoredHead } from './heads.ts'
import { bytesOf } from './layer.ts'
import { fetchLayers, manifestsOf, namedIn, type NamedLayer, pathOf, type ScopeManifest, usableOf } from './pull.ts'
import { push } from './push.ts'
import {
  checkRemote,
  type Remote,
  type RemoteMode,
  type RemoteOptions,
  type RemotePrefetch,
  type Scope,
  withinBudget,
} from './remote.ts'
import type { SigningKey } from './manifest.ts'
import type { BlobStore } from './stores/store.ts'

/** Failures after which publishing would fail, too, because it begins with the head. */
const NO_HEAD: ReadonlySet<string> = new Set(['REMOTE_UNAVAILABLE', 'REMOTE_DENIED'])

const HEAD_MS = 2000
const WAIT_MS = 10_000
const PUBLISH_MS = 30_000

/** A remote that caches can be opened with. */
export class OpenRemote implements Remote, CacheRemote {
  readonly store: BlobStore
  readonly dir: string
  readonly scopes: readonly [Scope, ...Scope[]]
  readonly mode: RemoteMode
  readonly prefetch: RemotePrefetch
  readonly signingKey: SigningKey | undefined
  readonly budgetMs: number
  readonly commits: Remote['commits']
  #waitedMs = 0
  /** The fetches in the background so far; they do not reject. */
  #background: Promise<unknown> = Promise.resolve()
  #problem: Error | undefined
  #isPublishing = true

  constructor({ store, dir, scopes, mode, prefetch, signingKey, budgetMs, commits }: Remote) {
    this.store = store
    this.dir = dir
    this.scopes = scopes
    this.mode = mode
    this.prefetch = prefetch
    this.signingKey = signingKey
    this.budgetMs = budgetMs
    this.commits = commits
  }

  get label(): string {
    return this.store.label
  }

  get isOff(): boolean {
    return this.mode === 'off'
  }

  get publishes(): boolean {
    return this.signingKey !== undefined && this.#isPublishing
  }

  get domain(): CacheRemote['domain'] {
    return this.scopes.every(({ isTrusted }) => isTrusted) ? 'trusted' : 'untrusted'
  }

  async attach(name: string, { offline }: { readonly offline: boolean }): Promise<AttachedLayers> {
    const isAsked = !offline && this.#problem === undefined
    const isLazy = isAsked && this.prefetch === 'lazy'
    const fetchedBytes = isAsked && !isLazy ? await this.#fetch(name) : 0
    const paths = (await this.#usable(name)).map((each) => pathOf(this, each))
    return {
      paths,
      fetchedBytes,
      problem: offline ? undefined : this.#problem,
      later: isLazy ? this.#fetchLater(name) : undefined,
    }
  }

  /** Fetches in the background, one cache after the other, and resolves to the problem. */
  #fetchLater(name: string): Promise<Error | undefined> {
    const fetched = this.#background.then(async () => {
      if (this.#problem === undefined) await this.#fetch(name)
      return this.#problem
    })
    this.#background = fetched
    return fetched
  }

  /** The layers of a cache on this machine that are an earlier state of the remote, or its newest. */
  async #usable(name: string): Promise<readonly NamedLayer[]> {
    const stored = (cache?: string): Promise<ScopeManifest[]> =>
      Promise.all(this.scopes.map(async (scope) => ({ scope, manifest: await readStoredHead(this, scope, cache) })))
    const newest = await stored()
    const named = ofCache(name, namedIn(newest))
    const usable = usableOf(this, named)
    if (usable.length === named.length) return usable
    const before = usableOf(this, ofCache(name, namedIn(await stored(name), newest)))
    const sizeOf = (layers: readonly NamedLayer[]): number => bytesOf(layers.map(({ layer }) => layer))
    return sizeOf(before) > sizeOf(usable) ? before : usable
  }

  async discard(paths: readonly string[]): Promise<void> {
    for (const path of paths) await dropDamaged(this.dir, basename(dirname(path))).catch(() => undefined)
  }

  async publish({ name, dir, secret, engine, shared }: PublishedCache): Promise<void> {
    if (!this.publishes) return
    await this.#background // fetches what publishing would fetch again
    if (!this.publishes) return
    try {
      await push(
        { ...this, budgetMs: PUBLISH_MS },
        { caches: [{ name, dir, secret, engine }], shared, skipSmall: true },
      )
    } catch (error) {
      this.#isPublishing = false
      throw error
    }
  }

  /** Fetches the newest heads and the layers that the cache lacks. Returns the bytes of these. */
  async #fetch(name: string): Promise<number> {
    const startMs = performance.now()
    const leftMs = (): number => Math.max(1, Math.round(WAIT_MS - this.#waitedMs - (performance.now() - startMs)))
    let bytes = 0
    const onProgress = (done: number): void => void (bytes = done)
    try {
      const headBudget = { ...this, budgetMs: Math.min(HEAD_MS, leftMs()) }
      const heads = await withinBudget(headBudget, undefined, (signal) => manifestsOf(this, [], signal)).catch(
        (error: unknown) => {
          if (error instanceof VarveError && NO_HEAD.has(error.code)) this.#isPublishing = false
          throw error
        },
      )
      const layers = this.prefetch === 'all' ? namedIn(heads) : ofCache(name, namedIn(heads))
      await withinBudget({ ...this, budgetMs: leftMs() }, undefined, (signal) =>
        fetchLayers(this, layers, { signal, onProgress }),
      )
      for (const { scope, bytes: head } of heads) if (head !== undefined) await writeStoredHead(this, scope, head, name)
    } catch (error) {
      this.#problem = error instanceof Error ? error : new Error(String(error))
    }
    this.#waitedMs += performance.now() - startMs
    return bytes
  }
}

/** The layers of a cache. */
function ofCache(name: string, named: readonly NamedLayer[]): NamedLayer[] {
  return named.filter(({ layer }) => layer.cache === name)
}

/** Checks the options of a remote. Opens no connection. Throws INVALID_OPTION. */
export function openRemote(options: RemoteOptions): OpenRemote {
  return new OpenRemote(checkRemote(options))
}
