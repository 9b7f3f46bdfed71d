/**
 * A remote: a store, the scope that is used, and whose signatures count.
 *
 *   v1/<domain>/chunk/<sha256>                       create-only
 *   v1/<domain>/layer/<sha256>                       descriptions, create-only
 *   v1/<scope>/manifest/<commit>.<key id>            signed, create-only
 *   v1/<scope>/head                                  signed, compare-and-swap
 *   v1/<domain>/sweep, v1/<domain>/clock             of garbage collection
 *   v1/<domain>/probe/<id>                           written and removed again by `remoteDoctor`
 *
 * The domain is the first segment of a scope, `trusted` or `untrusted`. Each has objects of its own, so credentials for
 * `untrusted` cannot occupy a name that a trusted writer needs.
 */
import { VarveError } from 'varve'
import { Timeout } from './error-code.ts'
import { type PublicKey, readPublicKey, readSigningKey, type SigningKey } from './manifest.ts'
import { ANYTHING, checkOptions, type Field, type Fields, TEXT, TEXTS } from 'varve/internal'
import { invalidOption, MS, isObject, isText } from './options.ts'
import { type BlobStore, segmentsOf } from './stores/store.ts'
import { environment, disk } from './host.ts'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Whether a remote is only read, which is the default, or ignored. */
export type RemoteMode = 'read' | 'read-write' | 'off'

/** What an opened cache fetches, and whether `openCache` waits for it. */
export type RemotePrefetch = 'auto' | 'all' | 'lazy'

/** Options of `openRemote`. */
export interface RemoteOptions {
  readonly store: BlobStore
  /** Directory for the layers that were fetched. It is created, and belongs to one user like a cache. */
  readonly dir: string
  /**
   * What is read first, and written: `trusted/<name>` or `untrusted/<name>`.
   * @defaultValue `'trusted/main'`
   */
  readonly scope?: string | undefined
  /**
   * Scopes that are read below `scope`, for example `['trusted/main']` for `untrusted/pr/7`. A trusted scope reads only trusted ones.
   * @defaultValue none
   */
  readonly base?: readonly string[] | undefined
  /** Public keys whose manifests count. `'none'` accepts every manifest: all who can write to the store decide what builds emit. */
  readonly trustedKeys: readonly string[] | 'none'
  /**
   * Public keys whose manifests count in untrusted scopes only.
   * @defaultValue none
   */
  readonly untrustedKeys?: readonly string[] | undefined
  /**
   * With `'read-write'`, `push` publishes, and so does each cache that was opened with this remote when it is closed. With `'off'`, caches
   * ignore it, and the functions of this package reject with INVALID_OPTION; no connection is opened.
   * @defaultValue `'read'`: `push` rejects with READ_ONLY
   */
  readonly mode?: RemoteMode | undefined
  /**
   * What `openCache` fetches. `'auto'`: the layers of this cache, before it opens. `'all'`: the layers of all caches, so that the tools of
   * one build need no connection later. `'lazy'`: the layers of this cache in the background, for at most 10 s, while the build uses
   * those that are on this machine; the next `openCache` uses what has arrived.
   * @defaultValue `'auto'`
   */
  readonly prefetch?: RemotePrefetch | undefined
  /** The secret key for `push`. Without it nothing is ever written. */
  readonly signingKey?: string | undefined
  /**
   * Milliseconds that `push`, `pull`, `status` or `verify` may take in all.
   * @defaultValue `120_000`
   */
  readonly budgetMs?: number | undefined
  /**
   * Commits whose manifests count in a store without a head, the newest first; the first one is what is published.
   * @defaultValue the last 16 first-parent commits of the Git repository in the working directory, and those that CI names
   */
  readonly commits?: readonly string[] | undefined
}

const STORE: Field = ['what s3(), webdav(), directory() or another store function returns', isStore]

function isStore(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['label', 'capabilities', 'get', 'put'].every((field) => field in value)
  )
}

const FIELDS: Fields<RemoteOptions> = {
  store: STORE,
  dir: ANYTHING,
  scope: TEXT,
  base: TEXTS,
  trustedKeys: ANYTHING,
  untrustedKeys: TEXTS,
  mode: ANYTHING,
  prefetch: ANYTHING,
  signingKey: ANYTHING,
  budgetMs: MS,
  commits: TEXTS,
}

/** The mode in an option or variable. Throws INVALID_OPTION. */
export function readMode(name: string, given: string = 'read'): RemoteMode {
  if (given === 'read' || given === 'read-write' || given === 'off') return given
  throw invalidOption(`${name} '${String(given)}'`, "'read', 'read-write' or 'off'")
}

/** The prefetch in an option or variable. Throws INVALID_OPTION. */
export function readPrefetch(name: string, given: string = 'auto'): RemotePrefetch {
  if (given === 'auto' || given === 'all' || given === 'lazy') return given
  throw invalidOption(`${name} '${String(given)}'`, "'auto', 'all' or 'lazy'")
}

/** A remote whose options are checked. */
export interface Remote {
  readonly store: BlobStore
  readonly dir: string
  /** The scope, then those below it. */
  readonly scopes: readonly [Scope, ...Scope[]]
  readonly mode: RemoteMode
  readonly prefetch: RemotePrefetch
  /** Undefined unless the mode is `'read-write'`. */
  readonly signingKey: SigningKey | undefined
  readonly budgetMs: number
  /** The commits of a store without a head, the newest first. */
  readonly commits: () => Promise<readonly string[]>
}

/** A scope and the keys that count in it. */
export interface Scope {
  readonly name: string
  readonly domain: Domain
  /** Whether a trusted key has signed what it has. Otherwise its layers, and caches over them, are in directories of their own. */
  readonly isTrusted: boolean
  readonly keys: readonly PublicKey[] | 'none'
}

export type Domain = 'trusted' | 'untrusted'

/** The remote of these options. Throws INVALID_OPTION. */
export function checkRemote(options: RemoteOptions): Remote {
  checkOptions('openRemote()', options, FIELDS)
  const { store, dir, scope = 'trusted/main', base = [], signingKey, budgetMs = 120_000, commits } = options
  if (store === undefined) throw invalidOption("option 'store'", STORE[0])
  if (typeof dir !== 'string' || dir === '')
    throw invalidOption("option 'dir'", "the path of a directory, for example 'node_modules/.cache/remote'")
  const mode = readMode("option 'mode'", options.mode)
  const prefetch = readPrefetch("option 'prefetch'", options.prefetch)
  const secret = signingKey === undefined ? undefined : readSigningKey("option 'signingKey'", signingKey)
  if (mode === 'read-write' && secret === undefined) {
    throw new VarveError(
      'INVALID_OPTION',
      "mode 'read-write' needs option 'signingKey' (VARVE_SIGNING_KEY). Make one with 'npx varve remote keygen'",
    )
  }
  const scopeOf = scopesWith(keysOf(options), secret)
  const [own, ...below] = [scopeOf(scope), ...base.map(scopeOf)]
  if (own === undefined) throw new VarveError('INVALID_OPTION', "option 'scope' is missing")
  if (own.domain === 'trusted' && below.some(({ domain }) => domain === 'untrusted')) {
    throw new VarveError(
      'INVALID_OPTION',
      `scope '${scope}' is trusted and reads an untrusted one; remove that from option 'base'`,
    )
  }
  const writer = mode === 'read-write' ? secret : undefined
  return {
    store,
    dir,
    scopes: [own, ...below],
    mode,
    prefetch,
    signingKey: writer,
    budgetMs,
    commits: commitsOf(commits),
  }
}

function commitsOf(given: readonly string[] | undefined): Remote['commits'] {
  return async () => given ?? recentCommits(process.cwd(), environment())
}

interface Keys {
  readonly trusted: readonly PublicKey[] | 'none'
  readonly untrusted: readonly PublicKey[]
}

function keysOf({ trustedKeys, untrustedKeys = [] }: RemoteOptions): Keys {
  const read = (option: string, keys: readonly string[]): PublicKey[] =>
    keys.map((key) => readPublicKey(`a key of option '${option}'`, key))
  const untrusted = read('untrustedKeys', untrustedKeys)
  if (trustedKeys === 'none') return { trusted: 'none', untrusted }
  if (!Array.isArray(trustedKeys) || trustedKeys.length === 0) {
    const risk = "'none' accepts whatever anyone has written to the store"
    throw new VarveError(
      'INVALID_OPTION',
      `option 'trustedKeys' (VARVE_TRUSTED_KEYS) has no public key. Name the keys of your publishers; ${risk}`,
    )
  }
  return { trusted: read('trustedKeys', trustedKeys), untrusted }
}

/** Names below a domain that are no scopes. */
const RESERVED = ['chunk', 'layer', 'sweep', 'clock', 'probe']

/** What a scope is by its name. A writer trusts its own key in the domain of the scope that it writes. */
function scopesWith({ trusted, untrusted }: Keys, own: SigningKey | undefined): (name: string) => Scope {
  return (name) => {
    const [domain, ...rest] = segmentsOf(name)
    if ((domain !== 'trusted' && domain !== 'untrusted') || rest.length === 0) {
      throw invalidOption(`scope '${name}'`, "'trusted/<name>' or 'untrusted/<name>', for example 'trusted/main'")
    }
    if (RESERVED.includes(rest[0] ?? ''))
      throw new VarveError('INVALID_OPTION', `scope '${name}' has a name that Varve uses: ${RESERVED.join(', ')}`)
    if (trusted === 'none') return { name, domain, isTrusted: false, keys: 'none' }
    const untrustedToo = domain === 'untrusted' ? [...untrusted, ...(own === undefined ? [] : [own])] : []
    return { name, domain, isTrusted: domain === 'trusted', keys: [...trusted, ...untrustedToo] }
  }
}

export function headName({ name }: Scope): string {
  return `v1/${name}/head`
}

/** Throws INVALID_ARGUMENT unless the commit is a hash in hex. */
export function manifestName({ name }: Scope, commit: string, keyId: string): string {
  if (!/^[0-9a-f]{7,64}$/.test(commit)) {
    const given = JSON.stringify(commit.slice(0, 80))
    throw new VarveError('INVALID_ARGUMENT', `invalid commit ${given}: expected its hash, 7 to 64 hexadecimal digits`)
  }
  return `v1/${name}/manifest/${commit}.${keyId}`
}

/** Whether an object of this name is a manifest of the scope. */
export function isManifestName({ name: scope }: Scope, name: string): boolean {
  const prefix = `v1/${scope}/manifest/`
  return name === `v1/${scope}/head` || (name.startsWith(prefix) && !name.slice(prefix.length).includes('/'))
}

export function layerName({ domain }: Scope, sha256: string): string {
  return `v1/${domain}/layer/${sha256}`
}

export function chunkName({ domain }: Scope, sha256: string): string {
  return `v1/${domain}/chunk/${sha256}`
}

/** Milliseconds in which work that was aborted ends by itself and removes what it has begun. */
const GRACE_MS = 250

/**
 * Runs `work` with a signal that aborts when the budget is used up. It then rejects with REMOTE_UNAVAILABLE; for a remote that is off, at once.
 * A store or credentials of the caller, and a file system of a network, may ignore the signal: then the work is not waited for.
 */
export async function withinBudget<T>(
  { budgetMs, store, mode }: Remote,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (mode === 'off')
    throw new VarveError('INVALID_OPTION', `${store.label} is not used: option 'mode' is 'off'. Set it to 'read'`)
  const controller = new AbortController()
  const late = `not done within ${budgetMs} ms`
  const spent = new VarveError('REMOTE_UNAVAILABLE', `${store.label}: ${late}`, { cause: new Timeout(late) })
  const timer = setTimeout(() => controller.abort(spent), budgetMs)
  const signal = caller === undefined ? controller.signal : AbortSignal.any([caller, controller.signal])
  let grace: NodeJS.Timeout | undefined
  const abandoned = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => (grace = setTimeout(() => reject(signal.reason), GRACE_MS)), { once: true })
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([work(signal), abandoned])
  } catch (error) {
    if (controller.signal.aborted) throw spent
    if (caller?.aborted === true) throw new VarveError('CANCELLED', 'the call was cancelled', { cause: error })
    throw error
  } finally {
    clearTimeout(timer)
    controller.abort() // ends requests of a call that has failed
    clearTimeout(grace)
  }
}

// The commits whose manifests are looked for in a store without a head, the newest first:
//
//   1. the last 16 first-parent commits of the Git repository in the working directory
//   2. what CI names: the commit that it builds, the one before the push, the base of the pull request
//
// A shallow clone has only the first of them, which for a pull request is a commit that no build has published: then 2 finds the others.

const COMMITS = 16
const GIT_MS = 2000

/** Variables with a commit: GitHub, GitLab, Jenkins, Buildkite, CircleCI, Azure, Bitbucket, Travis. */
const VARIABLES = [
  'GITHUB_SHA',
  'CI_COMMIT_SHA',
  'CI_MERGE_REQUEST_DIFF_BASE_SHA',
  'CI_COMMIT_BEFORE_SHA',
  'GIT_COMMIT',
  'GIT_PREVIOUS_SUCCESSFUL_COMMIT',
  'BUILDKITE_COMMIT',
  'CIRCLE_SHA1',
  'BUILD_SOURCEVERSION',
  'BITBUCKET_COMMIT',
  'TRAVIS_COMMIT',
]

/** Commits of the repository in `directory` and of the environment; none if there are none. */
export async function recentCommits(
  directory: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<string[]> {
  const found = [
    await commitsOfGit(directory),
    VARIABLES.map((name) => variables[name]),
    await commitsOfEvent(variables['GITHUB_EVENT_PATH']),
  ]
  return [...new Set(found.flat().filter(isCommit))]
}

async function commitsOfGit(cwd: string): Promise<string[]> {
  try {
    const { stdout } = await promisify(execFile)('git', ['rev-list', '--first-parent', `-${COMMITS}`, 'HEAD'], {
      cwd,
      timeout: GIT_MS,
    })
    return stdout.split('\n')
  } catch {
    return [] // no repository, or no Git
  }
}

/** That of a payload of GitHub. */
const EVENT_BYTES_MAX = 25 << 20

/** Commits of the file in which GitHub Actions describes what has started a workflow. */
async function commitsOfEvent(path: string | undefined): Promise<unknown[]> {
  if (path === undefined || path === '') return []
  try {
    const stats = await disk.promises.stat(path)
    if (!stats.isFile() || stats.size > EVENT_BYTES_MAX) return []
    const event: unknown = JSON.parse(await disk.promises.readFile(path, 'utf8'))
    const request = isObject(event) ? event['pull_request'] : undefined
    const base = isObject(request) ? request['base'] : undefined
    return [isObject(event) ? event['before'] : undefined, isObject(base) ? base['sha'] : undefined]
  } catch {
    return []
  }
}

/** Zeros are what CI writes if there is no such commit. */
function isCommit(value: unknown): value is string {
  return isText(value) && /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(value) && !/^0+$/.test(value)
}
