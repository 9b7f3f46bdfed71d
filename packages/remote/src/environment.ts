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
import { storeOf } from './address.ts'
import { openRemote, type OpenRemote } from './open.ts'
import { readMode, readPrefetch, type RemoteMode } from './remote.ts'

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
