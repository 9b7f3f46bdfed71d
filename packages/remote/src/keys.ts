/**
 * Ed25519 keys as one line of text, for the environment:
 *
 *   varve-public-1:<32 bytes as base64url>     for readers; not secret
 *   varve-signing-1:<32 bytes as base64url>    the seed, for writers; a secret
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { invalidOption } from './options.ts'

const PUBLIC = 'varve-public-1:'
const SIGNING = 'varve-signing-1:'

/** What precedes a seed of Ed25519 in PKCS #8. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A pair of keys as text. */
export interface KeyPair {
  readonly publicKey: string
  /** The secret key, which signs manifests. Publishing requires it. */
  readonly signingKey: string
  /** The id of the public key, in the names of manifests. */
  readonly keyId: string
}

/** A key that verifies signatures. */
export interface PublicKey {
  readonly id: string
  readonly key: KeyObject
}

/** A key that makes signatures. */
export interface SigningKey extends PublicKey {
  readonly secret: KeyObject
}

/** Makes a new pair of keys. */
export function generateKeys(): KeyPair {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  return { publicKey: PUBLIC + x, signingKey: SIGNING + d, keyId: idOf(x) }
}

/** Reads a public key. Throws INVALID_OPTION. */
export function readPublicKey(option: string, text: string): PublicKey {
  const x = partOf(option, text, PUBLIC)
  return { id: idOf(x), key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }) }
}

/** Reads a signing key. Throws INVALID_OPTION; no message contains the key. */
export function readSigningKey(option: string, text: string): SigningKey {
  const seed = Buffer.from(partOf(option, text, SIGNING), 'base64url')
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
  const key = createPublicKey(secret)
  return { id: idOf(key.export({ format: 'jwk' }).x ?? ''), key, secret }
}

function partOf(option: string, text: unknown, prefix: string): string {
  const part = typeof text === 'string' && text.trim().startsWith(prefix) ? text.trim().slice(prefix.length) : ''
  if (/^[A-Za-z0-9_-]{43}$/.test(part)) return part
  throw invalidOption(`key in ${option}`, `'${prefix}' and 43 characters. Make a pair with 'npx varve remote keygen'`)
}

function idOf(x: string): string {
  return createHash('sha256').update(Buffer.from(x, 'base64url')).digest('hex').slice(0, 16)
}
