/** What the variables of a remote say, without their values if these may be secret. */
import type { RemoteFinding } from './finding.ts'
import { readPublicKey, readSigningKey } from '../keys.ts'
import type { Environment } from '../environment.ts'
import { proxyVariable, withoutProxy } from '../stores/proxy.ts'

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
export function checkVariables(environment: Environment): RemoteFinding[] {
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
