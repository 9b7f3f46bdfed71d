/**
 * A manifest: the layers of a scope at one time, signed. Below are the changes that publications make to it, and the keys that sign it.
 *
 *   8 bytes    'VARVERM1'
 *   8          id of the key
 *   64         Ed25519 signature over all other bytes
 *   the rest   JSON, at most 4 MiB, whose parts are counted before it is parsed
 *
 * A manifest contains the name of the object that it is. So one that is copied to another scope or another commit is refused,
 * whatever its signature is. Sizes are checked here, before a reader allocates anything for a layer: those of each, and those of all together.
 */
import type { RemoteKeygenJson, RemoteLayerJson } from 'varve/cli-json'
import {
  sign,
  verify,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { VarveError } from 'varve'
import { AT_ONCE } from './host.ts'
import { isArray, isCount, isDigest, isObject, isText, parseJson, invalidOption } from './options.ts'
import { CHUNK_MAX } from './layer.ts'

/** A layer of a cache: a sealed directory, by the digest of its description, which lists its files. */
export type RemoteLayer = RemoteLayerJson

/** An object with a part of a layer. */
export interface Chunk {
  readonly sha256: string
  readonly bytes: number
}

/** What a scope has. */
export interface Manifest {
  readonly version: 1
  /** Name of this object in the store. */
  readonly name: string
  /** The commit whose build published it; empty if it is unknown. */
  readonly commit: string
  /** Increases with each change of the head of a scope. */
  readonly generation: number
  /** In milliseconds since 1970. */
  readonly createdAt: number
  /** The layers of all caches, the newest first. */
  readonly layers: readonly RemoteLayer[]
  /** SHA-256 of the layers that the publication of `commit` has added. */
  readonly added?: readonly string[] | undefined
  /** SHA-256 of layers that no reader uses and no publisher adds again. */
  readonly revoked?: readonly string[] | undefined
}

/** Most layers that a manifest names in `merged` and `revoked`. */
const MERGED_MAX = 256
export const REVOKED_MAX = 10_000

/** Most chunks of a layer that a manifest names. */
export const FIRST_MAX: number = AT_ONCE

export const MANIFEST_MAX: number = 4 << 20
const MAGIC = Buffer.from('VARVERM1')
const HEADER = MAGIC.length + 8
const SIGNED = HEADER + 64

/** Most layers of a manifest, bytes of all of them, and bytes of all descriptions: what a reader may have to fetch and keep. */
const LAYERS_MAX = 4096
const LAYERS_BYTES_MAX = 2 ** 36
export const DESCRIPTION_MAX: number = 64 << 20

/** Parts of JSON for one byte of a manifest; a layer has one for every 14. */
const PARTS = 1 / 8

export function encodeManifest(manifest: Manifest, { id, secret }: SigningKey): Uint8Array {
  const header = Buffer.concat([MAGIC, Buffer.from(id, 'hex')])
  const body = Buffer.from(JSON.stringify(manifest))
  const isReadable: boolean = isManifest(manifest)
  if (!isReadable) {
    const most = `${LAYERS_MAX} layers of ${LAYERS_BYTES_MAX} bytes in all`
    throw new VarveError('INVALID_ARGUMENT', `the manifest '${manifest.name}' would have more than ${most}`)
  }
  const signature = sign(null, Buffer.concat([header, body]), secret)
  const bytes = Buffer.concat([header, signature, body])
  if (bytes.length > MANIFEST_MAX)
    throw new VarveError('INVALID_ARGUMENT', `the manifest '${manifest.name}' would exceed ${MANIFEST_MAX} bytes`)
  return new Uint8Array(bytes)
}

/** Reads a manifest that must be the object `name` and be signed by one of `keys`. Throws REMOTE_UNTRUSTED. */
export function decodeManifest(bytes: Uint8Array, name: string, keys: readonly PublicKey[] | 'none'): Manifest {
  const refuse = (why: string): VarveError =>
    new VarveError('REMOTE_UNTRUSTED', `the manifest '${name}' of the remote is not used: ${why}`)
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (data.length < SIGNED || data.length > MANIFEST_MAX || !data.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw refuse(`expected ${SIGNED} to ${MANIFEST_MAX} bytes that begin with ${MAGIC.toString()}`)
  }
  const header = data.subarray(0, HEADER)
  const signature = data.subarray(HEADER, SIGNED)
  const body = data.subarray(SIGNED)
  if (keys !== 'none') {
    const id = header.subarray(MAGIC.length).toString('hex')
    const key = keys.find((each) => each.id === id)
    if (key === undefined)
      throw refuse(`key ${id} is not trusted here; add its public key to the trusted keys if it should be`)
    if (!verify(null, Buffer.concat([header, body]), key.key, signature)) throw refuse('its signature is wrong')
  }
  const manifest = parse(body)
  if (manifest === undefined) throw refuse('its content is invalid')
  if (manifest.name !== name) throw refuse(`it was signed for '${manifest.name.slice(0, 120)}'`)
  return manifest
}

/** What a stored manifest claims; its signature is not verified. Undefined if it is invalid. */
export function unverified(bytes: Buffer): Manifest | undefined {
  return parse(bytes.subarray(SIGNED))
}

function parse(body: Buffer): Manifest | undefined {
  try {
    const value = parseJson(body, MANIFEST_MAX * PARTS)
    return isManifest(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Names of caches, which become directories; the rule of `openCache`. */
const CACHE_NAME = /^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,99}$/

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value)) return false
  const { version, name, commit, generation, createdAt, layers } = value
  const isHead = version === 1 && isText(name) && isText(commit) && isCount(generation) && isCount(createdAt)
  return (
    isHead &&
    isArray(layers) &&
    layers.length <= LAYERS_MAX &&
    layers.every(isLayer) &&
    sumOf(layers, 'bytes') <= LAYERS_BYTES_MAX &&
    sumOf(layers, 'descriptionBytes') <= DESCRIPTION_MAX &&
    isListOf(value['added'], isDigest) &&
    isListOf(value['revoked'], isDigest)
  )
}

function isListOf(value: unknown, isEach: (each: unknown) => boolean): boolean {
  return value === undefined || (isArray(value) && value.length <= REVOKED_MAX && value.every(isEach))
}

function isLayer(value: unknown): value is RemoteLayer {
  if (!isObject(value)) return false
  const { cache, sha256, descriptionBytes, bytes, first, entries, deletes } = value
  if (!isText(cache) || !CACHE_NAME.test(cache) || !isDigest(sha256) || !isCount(entries) || !isCount(deletes))
    return false
  if (!isListOf(value['merged'], (each) => isText(each) && /^[0-9a-f]{16}$/.test(each))) return false
  if (!isArray(first) || first.length > FIRST_MAX || !first.every(isChunk)) return false
  return isCount(descriptionBytes) && isCount(bytes)
}

function sumOf(layers: readonly RemoteLayer[], field: 'bytes' | 'descriptionBytes'): number {
  return layers.reduce((sum, layer) => sum + layer[field], 0)
}

function isChunk(value: unknown): value is Chunk {
  return isObject(value) && isDigest(value['sha256']) && isCount(value['bytes']) && value['bytes'] <= CHUNK_MAX
}

// What a publication changes in the layers of a scope, without effects.
//
// Each layer stays larger than all newer layers of its cache together, in bytes and in entries. A publication that would break this
// merges the newest layers with its own into one. So a cache has few layers, each entry is written again only as often as the sizes
// double, and at most half of the entries are hidden by newer ones.
//
//   sizes before, the newest first    3   5   20   90
//   a delta of 4                      3 <= 4, 5 <= 4 + 3, 20 > 12, 90 > 32: both are merged with it
//   sizes after                       12      20   90

export type Size = Pick<RemoteLayer, 'bytes' | 'entries' | 'deletes'>

/** A layer that takes the place of others. */
export interface Change {
  readonly layer: RemoteLayer
  /** The layers that it contains: some that follow each other, of the same cache. None: it is put on top. */
  readonly replaces: readonly RemoteLayer[]
}

/** How many of `layers`, the newest first, are merged with `delta`. Together they have at most `bytesMax`. */
export function countToMerge(layers: readonly Size[], delta: Size, bytesMax: number): number {
  let bytes = delta.bytes
  let changes = delta.entries + delta.deletes
  let count = 0
  for (const [index, layer] of layers.entries()) {
    const isSmall = layer.bytes <= bytes || layer.entries + layer.deletes < changes
    bytes += layer.bytes
    changes += layer.entries + layer.deletes
    if (bytes > bytesMax) break
    if (isSmall) count = index + 1
  }
  return count
}

/** Layers with these changes. Undefined if a layer that is replaced is not there any more: another publisher has merged it. */
export function layersWith(layers: readonly RemoteLayer[], changes: readonly Change[]): RemoteLayer[] | undefined {
  let changed = [...layers]
  for (const { layer, replaces } of changes) {
    if (changed.some((known) => isSame(known, layer))) continue
    const own = changed.filter(({ cache }) => cache === layer.cache)
    const first = own.findIndex((known) => replaces[0] !== undefined && isSame(known, replaces[0]))
    if (replaces.length > 0 && (first === -1 || !replaces.every((each, index) => isSame(own[first + index], each))))
      return undefined
    const at = Math.max(
      0,
      changed.findIndex((known) => isSame(known, replaces[0])),
    )
    changed = [
      ...changed.slice(0, at),
      layer,
      ...changed.slice(at).filter((known) => !replaces.some((each) => isSame(known, each))),
    ]
  }
  return changed
}

/** Whether both are one layer. */
export function isSame(one: RemoteLayer | undefined, other: RemoteLayer | undefined): boolean {
  return one !== undefined && one.sha256 === other?.sha256 && one.cache === other.cache
}

/** What `merged` of a layer has that contains these. */
export function mergedOf(layers: readonly RemoteLayer[]): string[] {
  return layers.flatMap(({ sha256, merged = [] }) => [sha256.slice(0, 16), ...merged]).slice(0, MERGED_MAX)
}

// Ed25519 keys as one line of text, for the environment:
//
//   varve-public-1:<32 bytes as base64url>     for readers; not secret
//   varve-signing-1:<32 bytes as base64url>    the seed, for writers; a secret

const PUBLIC = 'varve-public-1:'
const SIGNING = 'varve-signing-1:'

/** What precedes a seed of Ed25519 in PKCS #8. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A pair of keys as text, and the id of the public one, which is in the names of manifests. Publishing requires the signing key. */
export type KeyPair = Omit<RemoteKeygenJson, 'format'>

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
