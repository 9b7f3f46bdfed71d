/**
 * Checks the remote of an environment: the variables, the keys, the store, and whether this machine can use it. Every problem is a finding
 * with advice, and none of them has a secret: credentials and keys appear by the names of their variables or by their ids only.
 *
 *   1. The variables are read as a build reads them. If they are invalid, nothing else is checked.
 *   2. The store is asked for the heads, which are verified, and its clock is compared.
 *   3. Only if writing is configured, an object is written, read and removed again.
 */
import type { DoctorJson, FindingJson } from 'varve/cli-json'
import { type Environment, type EnvironmentOptions, remoteFromEnvironment } from './environment.ts'
import { randomUUID } from 'node:crypto'
import { VarveError } from 'varve'
import { bytesOf } from './layer.ts'
import { manifestsOf } from './pull.ts'
import { headName, type Remote, withinBudget } from './remote.ts'
import { clockAheadMs, proxyVariable, withoutProxy } from './stores/http.ts'
import type { BlobStore } from './stores/store.ts'
import { readPublicKey, readSigningKey } from './manifest.ts'

/** One thing that was checked. */
export type RemoteFinding = FindingJson

/** The outcome of `remoteDoctor`; not `ok` if a finding has advice. */
export type RemoteDoctorReport = Omit<DoctorJson, 'format'>

/** Options of `remoteDoctor`. */
export interface RemoteDoctorOptions extends EnvironmentOptions {
  /**
   * Opens no connection.
   * @defaultValue `false`
   */
  readonly offline?: boolean | undefined
}

/** Checks the remote of an environment. It never rejects for a problem of the remote. */
export async function remoteDoctor(
  environment: Environment,
  { offline = false, ...options }: RemoteDoctorOptions,
): Promise<RemoteDoctorReport> {
  const findings = checkVariables(environment)
  const remote = opened(environment, options, findings)
  if (remote !== undefined && !offline) findings.push(...(await checkStore(remote)))
  return { ok: findings.every(({ advice }) => advice === undefined), findings }
}

/** The remote; undefined if there is none, or the variables are invalid, which is then a finding. */
function opened(
  environment: Environment,
  options: EnvironmentOptions,
  findings: RemoteFinding[],
): ReturnType<typeof remoteFromEnvironment> {
  try {
    return remoteFromEnvironment(environment, options)
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    findings.push({ what: 'remote', found: 'invalid', advice: found })
    return undefined
  }
}

/** Round trips that are measured; the shortest counts. */
const TRIPS = 3

/** A difference of clocks that is reported; the header Date has whole seconds, and its way takes time. */
const CLOCK_NOTE_MS = 30_000

/** S3 refuses requests whose time differs by 15 minutes; a machine that is this far off will be soon. */
const CLOCK_ADVICE_MS = 300_000

/** Findings on the store of a remote. Nothing is written unless the remote has a signing key. */
async function checkStore(remote: Remote): Promise<RemoteFinding[]> {
  const { store } = remote
  const findings: RemoteFinding[] = [{ what: 'store', found: `${store.label}; ${abilitiesOf(store)}` }]
  try {
    await withinBudget(remote, undefined, async (signal) => {
      findings.push(
        ...(await heads(remote, signal)),
        ...(await place(remote, signal)),
        ...(await timing(remote, signal)),
      )
      if (remote.signingKey !== undefined) findings.push(await writing(remote, signal))
    })
  } catch (error) {
    if (!(error instanceof VarveError)) throw error
    findings.push({ what: 'connection', found: error.code, advice: error.message })
  }
  return [...findings, ...clock(store)]
}

function abilitiesOf({ capabilities: { compareAndSwap, list, delete: canDelete } }: BlobStore): string {
  const head = compareAndSwap ? 'has a head' : 'has no head, so name commits with --commit'
  return `${head}; ${list && canDelete && compareAndSwap ? 'gc works' : 'no gc'}`
}

async function heads(remote: Remote, signal: AbortSignal): Promise<RemoteFinding[]> {
  const startMs = performance.now()
  const found = await manifestsOf(remote, [], signal)
  const connection = {
    what: 'connection',
    found: `answers, the first time within ${Math.ceil(performance.now() - startMs)} ms`,
  }
  const scopes = found.map(({ scope, manifest }) => {
    if (manifest === undefined) return { what: 'scope', found: `${scope.name}: nothing is published` }
    const { generation, layers } = manifest
    return {
      what: 'scope',
      found: `${scope.name}: generation ${generation}, ${layers.length} layers, ${bytesOf(layers)} bytes`,
    }
  })
  return [connection, ...scopes]
}

/** A writer may make the place; `heads` rejects for a reader. */
async function place({ store }: Remote, signal: AbortSignal): Promise<RemoteFinding[]> {
  const missing = await store.missing?.({ signal })
  if (missing === undefined) return []
  return [{ what: 'place', found: 'nothing has been written there so far', note: missing }]
}

async function timing({ store, scopes: [scope] }: Remote, signal: AbortSignal): Promise<RemoteFinding[]> {
  let shortestMs = Infinity
  for (let trip = 0; trip < TRIPS; trip++) {
    const startMs = performance.now()
    await store.head(headName(scope), { signal })
    shortestMs = Math.min(shortestMs, performance.now() - startMs)
  }
  return [{ what: 'round trip', found: `${shortestMs.toFixed(1)} ms` }]
}

/** Writes an object, reads it and removes it. Its name is that of no scope. */
async function writing(
  { store, scopes: [{ domain }], signingKey }: Remote,
  signal: AbortSignal,
): Promise<RemoteFinding> {
  // A store that cannot delete keeps one probe for each key.
  const name = `v1/${domain}/probe/${store.capabilities.delete ? randomUUID() : (signingKey?.id ?? '')}`
  const bytes = new Uint8Array(Buffer.from('written by varve remote doctor'))
  const isWritten =
    (await failureOf(store.put(name, bytes, { signal }))) ?? (await failureOf(readBack(store, name, bytes, signal)))
  const isRemoved = isWritten ?? (await failureOf(store.delete?.([name], { signal })))
  if (isWritten !== undefined)
    return { what: 'writing', found: 'refused or lost', advice: `${isWritten}. Readers need VARVE_REMOTE_MODE=read` }
  if (isRemoved !== undefined)
    return { what: 'writing', found: 'works, deleting does not', note: `${isRemoved}. 'npx varve remote gc' needs it` }
  return {
    what: 'writing',
    found: store.capabilities.delete ? 'an object was written, read and removed' : 'an object was written and read',
  }
}

async function readBack(store: BlobStore, name: string, written: Uint8Array, signal: AbortSignal): Promise<void> {
  const found = await store.get(name, { bytesMax: written.length, signal })
  if (found !== undefined && Buffer.from(found.bytes).equals(written)) return
  throw new VarveError('REMOTE_UNAVAILABLE', `'${name}' was written, and a read does not return it`)
}

/** The message of a call that fails; undefined if it does not. */
async function failureOf(call: Promise<unknown> | undefined): Promise<string | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof VarveError) return error.message
    throw error
  }
}

function clock(store: BlobStore): RemoteFinding[] {
  const aheadMs = clockAheadMs(store)
  if (aheadMs === undefined) return []
  const differenceMs = Math.abs(aheadMs)
  const found = `${Math.round(differenceMs / 1000)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine`
  if (differenceMs < CLOCK_NOTE_MS) return [{ what: 'clock of the server', found: 'agrees with that of this machine' }]
  const advice = 'set the clock of this machine: S3 refuses requests whose time differs by more than 15 minutes'
  return [{ what: 'clock of the server', found, ...(differenceMs < CLOCK_ADVICE_MS ? { note: advice } : { advice }) }]
}

/** Variables whose values are secret. */
const SECRET = [
  'VARVE_SIGNING_KEY',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'VARVE_REMOTE_TOKEN',
  'VARVE_REMOTE_PASSWORD',
]
const PUBLIC = [
  'VARVE_REMOTE',
  'VARVE_REMOTE_MODE',
  'VARVE_REMOTE_PREFETCH',
  'VARVE_REMOTE_SCOPE',
  'VARVE_REMOTE_BASE',
  'VARVE_TRUSTED_KEYS',
  'VARVE_UNTRUSTED_KEYS',
  'VARVE_REMOTE_ALLOW_INSECURE',
  'VARVE_REMOTE_USER',
  'VARVE_OFFLINE',
  'AWS_ACCESS_KEY_ID',
  'AWS_REGION',
]

/** Variables that resemble those of a remote, so an unknown one of them is misspelled. */
const OURS = /^VARVE_(?:REMOTE|TRUST|UNTRUST|SIGN|OFFLINE)/

/** The findings on variables; it opens nothing. */
function checkVariables(environment: Environment): RemoteFinding[] {
  const isSet = (name: string): boolean => (environment[name] ?? '') !== ''
  const set = [...PUBLIC, ...SECRET].filter(isSet)
  if (!isSet('VARVE_REMOTE')) {
    const advice = "set VARVE_REMOTE to 's3://bucket/prefix', 'https://host/path' (WebDAV) or 'file:///path'"
    return [{ what: 'variables', found: set.join(', ') || 'none', advice }]
  }
  const checks = [misspelled, modeOf, trustOf, signing, credentials, proxy]
  return [{ what: 'variables', found: set.join(', ') }, ...checks.flatMap((check) => check(environment))]
}

function misspelled(environment: Environment): RemoteFinding[] {
  const unknown = Object.keys(environment).filter((name) => OURS.test(name) && ![...PUBLIC, ...SECRET].includes(name))
  const known = [...PUBLIC, ...SECRET].filter((name) => name.startsWith('VARVE_')).join(', ')
  return unknown.map((name) => ({
    what: 'variables',
    found: `${name} is unknown`,
    advice: `unset it, or correct its name: ${known}`,
  }))
}

/** Modes, and what builds do besides reading. */
const MODES: ReadonlyMap<string, string | undefined> = new Map([
  ['read', undefined],
  ['read-write', 'each cache that is closed publishes what is new'],
  ['off', 'builds ignore the remote'],
])

function modeOf({ VARVE_REMOTE_MODE: mode = '', VARVE_OFFLINE: offline = '' }: Environment): RemoteFinding[] {
  const found = mode === '' ? 'read' : MODES.has(mode) ? mode : 'invalid'
  const note = MODES.get(found)
  const isOffline = offline !== '' && offline !== '0'
  return [
    { what: 'mode', found, ...(note === undefined ? {} : { note }) },
    ...(isOffline
      ? [{ what: 'connections', found: 'VARVE_OFFLINE forbids them', note: 'unset it to check the store' }]
      : []),
  ]
}

/** Invalid keys have no id here; opening the remote names what is wrong. */
function trustOf({ VARVE_TRUSTED_KEYS: trusted = '' }: Environment): RemoteFinding[] {
  if (trusted.trim() === 'none') {
    const note = 'all who can write to the store decide what builds emit; name the keys of your publishers instead'
    return [{ what: 'trusted keys', found: 'none: every manifest counts', note }]
  }
  const ids = trusted
    .split(',')
    .map((key) => idOf(readPublicKey, key))
    .filter((id) => id !== undefined)
  return ids.length === 0 ? [] : [{ what: 'trusted keys', found: ids.join(', ') }]
}

function signing(environment: Environment): RemoteFinding[] {
  const {
    VARVE_SIGNING_KEY: key = '',
    VARVE_REMOTE_MODE: mode = '',
    VARVE_REMOTE_SCOPE: scope = '',
    VARVE_TRUSTED_KEYS: trusted = '',
  } = environment
  const id = idOf(readSigningKey, key)
  if (id === undefined) return []
  const readers = trusted.split(',').map((one) => idOf(readPublicKey, one))
  const isTrusted = scope.startsWith('untrusted/') || trusted.trim() === 'none' || readers.includes(id)
  if (!isTrusted) {
    const advice = `its public key is not in VARVE_TRUSTED_KEYS, so readers would refuse what it signs. Add it, or use the key of one of ${trusted}`
    return [{ what: 'signing key', found: id, advice }]
  }
  const note = "builds do not publish without VARVE_REMOTE_MODE=read-write; 'npx varve remote push' does"
  return [{ what: 'signing key', found: id, ...(mode === 'read-write' ? {} : { note }) }]
}

/** Without credentials a reader may have a public bucket, or may lack a secret of CI. */
function credentials({ VARVE_REMOTE: address = '', AWS_ACCESS_KEY_ID: key = '' }: Environment): RemoteFinding[] {
  if (!address.startsWith('s3:') || key !== '') return []
  const fix = 'otherwise set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  const note = `requests are not signed, which only a bucket that everyone may read accepts; ${fix}`
  return [{ what: 'credentials', found: 'none', note }]
}

/** A variable that names a proxy, which a directory does not need. */
function proxy(environment: Environment): RemoteFinding[] {
  const name = proxyVariable(environment)
  if (name === undefined || environment['VARVE_REMOTE']?.startsWith('file:') === true) return []
  const note = 'if this machine reaches the store only through a proxy, use an endpoint or a store within its network'
  return [{ what: 'proxy', found: withoutProxy(name), note }]
}

/** The id of a key; undefined if it is none. */
function idOf(read: (option: string, text: string) => { readonly id: string }, text: string): string | undefined {
  try {
    return text.trim() === '' ? undefined : read('', text).id
  } catch {
    return undefined
  }
}
