/**
 * A remote from environment variables, so that secrets are in no file:
 *
 *   VARVE_REMOTE              s3://bucket/prefix?endpoint=..&region=.. | https://host/path (WebDAV) | file:///path
 *                             bazel+https://host/instance | turbo+https://host?team=.. | rediss://host:6379/0?prefix=..
 *                             github-actions:prefix
 *   VARVE_REMOTE_SCOPE        trusted/main        VARVE_REMOTE_BASE      scopes below it, separated by commas
 *   VARVE_TRUSTED_KEYS        public keys         VARVE_UNTRUSTED_KEYS   separated by commas; `none` spelled out
 *   VARVE_REMOTE_MODE         read | read-write | off
 *   VARVE_REMOTE_PREFETCH     auto | all | lazy
 *   VARVE_SIGNING_KEY         for read-write
 *   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION              S3; without the first two, requests are not signed
 *   VARVE_REMOTE_TOKEN, or VARVE_REMOTE_USER and VARVE_REMOTE_PASSWORD                   WebDAV, bazel
 *   VARVE_REMOTE_TOKEN or TURBO_TOKEN, TURBO_TEAM                                        turbo
 *   ACTIONS_RESULTS_URL, ACTIONS_RUNTIME_TOKEN                                           github-actions
 *   VARVE_REMOTE_USER (may be missing) and VARVE_REMOTE_PASSWORD                         redis
 *   VARVE_REMOTE_ALLOW_INSECURE=1                                                        plain http to another machine
 */
import { openRemote, type OpenRemote } from './open.ts'
import { readMode, readPrefetch, type RemoteMode } from './remote.ts'
import { fileURLToPath } from 'node:url'
import { VarveError } from 'varve'
import { invalidOption } from './options.ts'
import type { HttpCredentials } from './stores/http.ts'
import { bazel, turbo } from './stores/build-caches.ts'
import { directory } from './stores/directory.ts'
import { githubActions } from './stores/github-actions.ts'
import { redis } from './stores/redis.ts'
import { s3, type S3Credentials } from './stores/s3.ts'
import type { BlobStore } from './stores/store.ts'
import { webdav } from './stores/webdav.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What the environment does not decide. */
export interface EnvironmentOptions {
  readonly dir: string
  /** @defaultValue VARVE_REMOTE_MODE */
  readonly mode?: RemoteMode | undefined
  readonly budgetMs?: number | undefined
}

/** The remote of the environment; undefined if there is none, or it is off. An empty variable counts as not set. Throws INVALID_OPTION. */
export function remoteFromEnvironment(
  environment: Environment,
  { dir, budgetMs, ...options }: EnvironmentOptions,
): OpenRemote | undefined {
  const set = (name: string): string | undefined => (environment[name] === '' ? undefined : environment[name])
  const address = set('VARVE_REMOTE')
  const mode = options.mode ?? readMode('VARVE_REMOTE_MODE', set('VARVE_REMOTE_MODE'))
  if (address === undefined || mode === 'off') return undefined
  const list = (name: string): string[] =>
    (set(name) ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  const trusted = list('VARVE_TRUSTED_KEYS')
  return openRemote({
    store: storeOf(address, set, mode === 'read-write'),
    dir,
    mode,
    prefetch: readPrefetch('VARVE_REMOTE_PREFETCH', set('VARVE_REMOTE_PREFETCH')),
    budgetMs,
    scope: set('VARVE_REMOTE_SCOPE'),
    base: list('VARVE_REMOTE_BASE'),
    trustedKeys: trusted.length === 1 && trusted[0] === 'none' ? 'none' : trusted,
    untrustedKeys: list('VARVE_UNTRUSTED_KEYS'),
    signingKey: mode === 'read-write' ? set('VARVE_SIGNING_KEY') : undefined,
  })
}

/** The value of a variable; undefined if it is not set or empty. */
export type Lookup = (name: string) => string | undefined

/** What makes a store of an address. */
interface StoreAddress {
  readonly url: URL
  readonly allowInsecure: boolean
  readonly set: Lookup
  readonly isWriting: boolean
}

/** The parameters that an address may have, and what makes its store, by protocol. */
const KINDS: Readonly<
  Record<string, { readonly parameters: readonly string[]; readonly make: (given: StoreAddress) => BlobStore }>
> = {
  'file:': { parameters: [], make: ({ url }) => directory(fileURLToPath(url)) },
  's3:': { parameters: ['endpoint', 'region'], make: s3Of },
  'http:': { parameters: [], make: webdavOf },
  'https:': { parameters: [], make: webdavOf },
  'bazel+http:': { parameters: [], make: bazelOf },
  'bazel+https:': { parameters: [], make: bazelOf },
  'turbo+http:': { parameters: ['team'], make: turboOf },
  'turbo+https:': { parameters: ['team'], make: turboOf },
  'github-actions:': { parameters: [], make: actionsOf },
  'redis:': { parameters: ['prefix'], make: redisOf },
  'rediss:': { parameters: ['prefix'], make: redisOf },
}

/** The store of `VARVE_REMOTE`, for a process that only reads or that also writes. Throws INVALID_OPTION. */
export function storeOf(address: string, set: Lookup, isWriting: boolean): BlobStore {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const kind = url === undefined ? undefined : KINDS[url.protocol]
  if (url === undefined || kind === undefined) {
    const known = 's3://, https:// (WebDAV), bazel+https://, turbo+https://, rediss://, github-actions: or file://'
    throw invalidOption('address in VARVE_REMOTE', `${known}, for example 's3://my-bucket/my-project'`)
  }
  if (url.username !== '' || url.password !== '') throw hasCredentials(url.protocol)
  const unknown = [...url.searchParams.keys()].find((name) => !kind.parameters.includes(name))
  if (unknown !== undefined) throw new VarveError('INVALID_OPTION', unknownParameter(kind.parameters))
  try {
    return kind.make({ url, allowInsecure: set('VARVE_REMOTE_ALLOW_INSECURE') === '1', set, isWriting })
  } catch (error) {
    if (error instanceof VarveError) throw error
    throw invalidOption(
      'path of the address in VARVE_REMOTE',
      "three slashes before the path of a directory, and '%25' for a percent sign",
    )
  }
}

function hasCredentials(protocol: string): VarveError {
  const http = 'VARVE_REMOTE_TOKEN, or VARVE_REMOTE_USER and VARVE_REMOTE_PASSWORD'
  const variables = protocol === 's3:' ? 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY' : http
  return new VarveError(
    'INVALID_OPTION',
    `the address in VARVE_REMOTE has credentials, which would appear in logs. Set ${variables} instead`,
  )
}

/** The parameter is not named: it could be a token. */
function unknownParameter(known: readonly string[]): string {
  const fix =
    known.length === 0 ? 'none are allowed there' : `expected ${known.map((name) => `'${name}'`).join(' or ')}`
  return `the address in VARVE_REMOTE has an unknown parameter: ${fix}. Credentials are variables of their own`
}

function s3Of({ url, allowInsecure, set, isWriting }: StoreAddress): BlobStore {
  return s3({
    bucket: url.hostname,
    prefix: decodeURIComponent(url.pathname.replace(/^\/+|\/+$/g, '')),
    endpoint: url.searchParams.get('endpoint') ?? undefined,
    region: url.searchParams.get('region') ?? set('AWS_REGION'),
    allowInsecure,
    credentials: s3Credentials(set, isWriting),
  })
}

/** Undefined for a reader without credentials, as pull requests from forks are: the bucket may be public. */
function s3Credentials(set: Lookup, isWriting: boolean): S3Credentials | undefined {
  const accessKeyId = set('AWS_ACCESS_KEY_ID')
  const secretAccessKey = set('AWS_SECRET_ACCESS_KEY')
  if (accessKeyId === undefined && secretAccessKey === undefined && !isWriting) return undefined
  return {
    accessKeyId: accessKeyId ?? '',
    secretAccessKey: secretAccessKey ?? '',
    sessionToken: set('AWS_SESSION_TOKEN'),
  }
}

function webdavOf({ url, allowInsecure, set }: StoreAddress): BlobStore {
  return webdav({ url: url.href, allowInsecure, credentials: httpCredentials(set) })
}

function bazelOf({ url, allowInsecure, set }: StoreAddress): BlobStore {
  return bazel({ url: url.href.replace('bazel+', ''), allowInsecure, credentials: httpCredentials(set) })
}

function turboOf({ url, allowInsecure, set }: StoreAddress): BlobStore {
  const team = url.searchParams.get('team') ?? set('TURBO_TEAM')
  const { href } = new URL(url.pathname === '' ? '/' : url.pathname, url.href.replace('turbo+', ''))
  return turbo({ url: href, team, allowInsecure, token: set('VARVE_REMOTE_TOKEN') ?? set('TURBO_TOKEN') ?? '' })
}

function actionsOf({ url, set }: StoreAddress): BlobStore {
  const service = set('ACTIONS_RESULTS_URL')
  const token = set('ACTIONS_RUNTIME_TOKEN')
  return githubActions({ url: service, token, ...(url.pathname === '' ? {} : { prefix: url.pathname }) })
}

function redisOf({ url, allowInsecure, set }: StoreAddress): BlobStore {
  const password = set('VARVE_REMOTE_PASSWORD')
  const prefix = url.searchParams.get('prefix') ?? undefined
  const credentials = password === undefined ? undefined : { username: set('VARVE_REMOTE_USER'), password }
  return redis({ url: `${url.protocol}//${url.host}${url.pathname}`, prefix, allowInsecure, credentials })
}

function httpCredentials(set: Lookup): HttpCredentials | undefined {
  const token = set('VARVE_REMOTE_TOKEN')
  const username = set('VARVE_REMOTE_USER')
  if (token !== undefined) return { token }
  return username === undefined ? undefined : { username, password: set('VARVE_REMOTE_PASSWORD') ?? '' }
}
