/**
 * A remote from environment variables, so that secrets are in no file:
 *
 *   VARVE_REMOTE              s3://bucket/prefix?endpoint=..&region=.. | https://host/path (WebDAV) | file:///path
 *   VARVE_REMOTE_SCOPE        trusted/main        VARVE_REMOTE_BASE      scopes below it, separated by commas
 *   VARVE_TRUSTED_KEYS        public keys         VARVE_UNTRUSTED_KEYS   separated by commas; `none` spelled out
 *   VARVE_REMOTE_MODE         read | read-write | off
 *   VARVE_SIGNING_KEY         for read-write
 *   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION
 *   VARVE_REMOTE_TOKEN, or VARVE_REMOTE_USER and VARVE_REMOTE_PASSWORD                   WebDAV
 *   VARVE_REMOTE_ALLOW_INSECURE=1                                                        plain http to another machine
 */
import { fileURLToPath } from 'node:url'
import { VarveError } from 'varve'
import { openRemote, type OpenRemote } from './open.ts'
import type { RemoteMode } from './remote.ts'
import { directory } from './stores/directory.ts'
import { s3 } from './stores/s3.ts'
import type { BlobStore } from './stores/store.ts'
import { webdav, type WebdavCredentials } from './stores/webdav.ts'

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
export function remoteFromEnvironment(environment: Environment, { dir, budgetMs, ...options }: EnvironmentOptions): OpenRemote | undefined {
  const set = (name: string): string | undefined => (environment[name] === '' ? undefined : environment[name])
  const address = set('VARVE_REMOTE')
  const mode = options.mode ?? modeOf(set('VARVE_REMOTE_MODE'))
  if (address === undefined || mode === 'off') return undefined
  const list = (name: string): string[] => (set(name) ?? '').split(',').map((part) => part.trim()).filter((part) => part !== '')
  const trusted = list('VARVE_TRUSTED_KEYS')
  return openRemote({
    store: storeOf(address, set),
    dir,
    mode,
    budgetMs,
    scope: set('VARVE_REMOTE_SCOPE'),
    base: list('VARVE_REMOTE_BASE'),
    trustedKeys: trusted.length === 1 && trusted[0] === 'none' ? 'none' : trusted,
    untrustedKeys: list('VARVE_UNTRUSTED_KEYS'),
    signingKey: mode === 'read-write' ? set('VARVE_SIGNING_KEY') : undefined,
  })
}

function modeOf(mode = 'read'): RemoteMode | 'off' {
  if (mode === 'read' || mode === 'read-write' || mode === 'off') return mode
  throw new VarveError('INVALID_OPTION', `VARVE_REMOTE_MODE is '${mode}'; set it to read, read-write or off, or unset it`)
}

type Lookup = (name: string) => string | undefined

function storeOf(address: string, set: Lookup): BlobStore {
  const url = URL.canParse(address) ? new URL(address) : undefined
  // The address could contain a password, so no message repeats it.
  if (url === undefined) throw new VarveError('INVALID_OPTION', 'VARVE_REMOTE is no address: use s3://, https:// (WebDAV) or file://')
  const allowInsecure = set('VARVE_REMOTE_ALLOW_INSECURE') === '1'
  if (url.protocol === 'file:') return directory(fileURLToPath(url))
  if (url.protocol === 's3:') return s3Of(url, allowInsecure, set)
  return webdav({ url: address, allowInsecure, credentials: webdavCredentials(set) })
}

function s3Of(url: URL, allowInsecure: boolean, set: Lookup): BlobStore {
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'endpoint' && name !== 'region')
  if (unknown !== undefined) throw new VarveError('INVALID_OPTION', `VARVE_REMOTE has a parameter '${unknown}'; it takes 'endpoint' and 'region'`)
  if (url.username !== '' || url.password !== '') {
    throw new VarveError('INVALID_OPTION', 'VARVE_REMOTE has credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead')
  }
  return s3({
    bucket: url.hostname,
    prefix: decodeURIComponent(url.pathname.replace(/^\/+|\/+$/g, '')),
    endpoint: url.searchParams.get('endpoint') ?? undefined,
    region: url.searchParams.get('region') ?? set('AWS_REGION'),
    allowInsecure,
    credentials: {
      accessKeyId: set('AWS_ACCESS_KEY_ID') ?? '',
      secretAccessKey: set('AWS_SECRET_ACCESS_KEY') ?? '',
      sessionToken: set('AWS_SESSION_TOKEN'),
    },
  })
}

function webdavCredentials(set: Lookup): WebdavCredentials | undefined {
  const [token, username] = [set('VARVE_REMOTE_TOKEN'), set('VARVE_REMOTE_USER')]
  if (token !== undefined) return { token }
  return username === undefined ? undefined : { username, password: set('VARVE_REMOTE_PASSWORD') ?? '' }
}
