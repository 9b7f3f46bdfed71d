// @ts-check
// Makes frames and tables with correct checksums and hostile content, byte by byte as FORMAT.md describes them.
import { createXXHash3 } from 'hash-wasm'

const xxh3 = await createXXHash3()
const MASK = (1n << 64n) - 1n
const GOLDEN = 0x9e3779b97f4a7c15n

/** @param {bigint} place */
function mixed(place) {
  const spread = ((place ^ (place >> 32n)) * GOLDEN) & MASK
  return spread ^ (spread >> 32n)
}

/** @param {bigint} place @param {Buffer} bytes @returns {bigint} */
export const checksum = (place, bytes) => BigInt(`0x${xxh3.init().update(bytes).digest('hex')}`) ^ mixed(place)

/**
 * A frame at `offset` of file `number` (of the writer, or of the manifest).
 * @param {'VLOG' | 'SEEN' | 'CMIT' | 'HOLD' | 'SEAL' | 'VMAN'} kind @param {bigint} tag @param {bigint} number @param {Buffer} body
 * @param {{ offset?: number, bytes?: number }} [more] `bytes`: the length of the body in the head
 */
export function frameOf(kind, tag, number, body, { offset = 0, bytes = body.length } = {}) {
  const place = (((number + 1n) * GOLDEN) & MASK) ^ BigInt(offset)
  const padded = Buffer.concat([body, Buffer.alloc((32 - (body.length % 32)) % 32, 0x55)])
  const head = Buffer.alloc(32)
  head.write(kind, 0, 'latin1')
  head.writeUInt32LE(bytes, 4)
  head.writeBigUInt64LE(tag & MASK, 8)
  head.writeBigUInt64LE(checksum(place, padded), 16)
  head.writeUInt32LE(0, 24)
  head.writeUInt32LE(Number(checksum(place, head.subarray(0, 28)) & 0xffffffffn), 28)
  return Buffer.concat([head, padded])
}

/** The id of forged caches, of their manifests and of their logs. */
const ID = 7n

/** A log: its start and these commits. @param {bigint} writer @param {readonly Buffer[]} bodies @param {bigint} [order] of the first */
export function logOf(writer, bodies, order = 1n << 16n) {
  let log = frameOf(
    'VLOG',
    1n,
    writer,
    pack([
      ['raw', Buffer.from('NAME')],
      ['u32', 0],
      ['u64', ID],
      ['u64', ID],
    ]),
  )
  for (const [index, body] of bodies.entries()) {
    log = Buffer.concat([
      log,
      frameOf('CMIT', (order + (BigInt(index) << 16n)) & MASK, writer, body, { offset: log.length }),
    ])
  }
  return log
}

/**
 * Numbers, texts and bytes one after another: `u8 u16 u32 u64` with a number, `text`, `raw`.
 * @param {readonly (readonly ['u8' | 'u16' | 'u32' | 'u64' | 'text' | 'raw', any])[]} fields
 * @returns {Buffer}
 */
export function pack(fields) {
  return Buffer.concat(
    fields.map(([type, value]) => {
      if (type === 'raw') return value
      if (type === 'text') return Buffer.concat([pack([['u16', value.length]]), Buffer.from(value)])
      const out = Buffer.alloc(8)
      out.writeBigUInt64LE(BigInt(value) & MASK)
      return out.subarray(0, { u8: 1, u16: 2, u32: 4, u64: 8 }[/** @type {'u8'} */ (type)])
    }),
  )
}

/** @typedef {{ name: string, version: string, latest?: bigint, tables: readonly Buffer[], count?: number }} ForgedNamespace */

/**
 * A manifest.
 * @param {bigint} number
 * @param {{ lastOrder?: bigint, nextWriter?: number, logs?: Buffer, namespaces?: readonly ForgedNamespace[], count?: number }} of
 */
export function manifestOf(
  number,
  { lastOrder = 1n << 16n, nextWriter = 2, logs = pack([['u32', 0]]), namespaces = [], count = namespaces.length },
) {
  const rows = namespaces.map(({ name, version, latest = 0n, tables, count: tablesCount = tables.length }) =>
    pack([
      ['text', name],
      ['text', version],
      ['u64', latest],
      ['u64', 0],
      ['u32', 0],
      ['u32', tablesCount],
      ['raw', Buffer.concat(tables)],
    ]),
  )
  return frameOf(
    'VMAN',
    1n,
    number,
    pack([
      ['u64', ID],
      ['u64', ID],
      ['u64', 0],
      ['u64', lastOrder],
      ['u32', nextWriter],
      ['u32', 0],
      ['raw', logs],
      ['u32', 0],
      ['u32', count],
      ['raw', Buffer.concat(rows)],
    ]),
  )
}

/**
 * The record of a table in a manifest, which may have any hash.
 * @param {{ writer?: number, index?: number, bytes: number | bigint, root: bigint, numbers?: readonly (number | bigint)[] }} of
 */
export function metaOf({ writer = 1, index = 1, bytes, root, numbers = [] }) {
  const [entries, sequenceMax] = [1, 1n << 16n] // of `keyBlockOf`; an entry that is newer than its table is damage
  const sound = [entries, 0, 0, 0, sequenceMax, 0, 0, 0, 0, 0]
  const rest = sound.map((number, at) => /** @type {const} */ (['u64', numbers[at] ?? number]))
  return pack([
    ['u32', writer],
    ['u32', index],
    ['u64', bytes],
    ['u64', root],
    ...rest,
    ['u32', 0],
    ['u32', 0xffffffff],
  ])
}

/**
 * A table of these blocks. Its directory and footer match the blocks, or contradict them.
 * @param {object} of
 * @param {readonly ForgedBlock[]} of.keys
 * @param {readonly ForgedBlock[]} [of.values]
 * @param {readonly (number | bigint)[]} [of.counts]
 * @param {Buffer} [of.files]
 * @param {readonly number[]} [of.hashes]
 * @typedef {{ bytes: Buffer, raw?: number, offset?: bigint, stored?: number }} ForgedBlock `raw`: the unpacked length in the directory
 */
export function tableOf({ keys, values = [], counts = [], files = Buffer.alloc(0), hashes = keys.map(() => 0) }) {
  let [at, blocks] = [0, Buffer.alloc(0)]
  const rows = [...keys, ...values].map(({ bytes, raw = bytes.length, offset = BigInt(at), stored = bytes.length }) => {
    at += bytes.length
    blocks = Buffer.concat([blocks, bytes])
    return pack([
      ['u64', checksum(offset, bytes)],
      ['u64', offset],
      ['u32', stored],
      ['u32', raw],
    ])
  })
  const pages = [...pagesOf(rows.slice(0, keys.length)), ...pagesOf(rows.slice(keys.length))]
  const sums = pages.map((page) => pack([['u64', checksum(BigInt((at += page.length) - page.length), page)]]))
  const directory = Buffer.concat([...hashes.map((hash) => pack([['u32', hash]])), ...sums, files])
  const [
    keyBlocks = keys.length,
    valueBlocks = values.length,
    fileCount = files.length / 40,
    entries = 1,
    directoryAt = at,
  ] = counts
  const footer = pack([
    ['raw', Buffer.from('varvetbl')],
    ['u32', 1],
    ['u32', keyBlocks],
    ['u32', valueBlocks],
    ['u32', fileCount],
    ['u64', entries],
    ['u64', 0],
    ['u64', 0],
    ['u64', 1n << 16n],
    ['u64', directoryAt],
    ['u64', 1],
    ['u64', 1],
    ['u64', checksum(0n, directory)],
  ])
  const root = checksum(0n, footer)
  const bytes = Buffer.concat([blocks, ...pages, directory, footer, pack([['u64', root]])])
  return { bytes, root }
}

/** Rows of a table, in pages of 128. @param {readonly Buffer[]} rows @returns {Buffer[]} */
function pagesOf(rows) {
  return rows.length === 0 ? [] : [Buffer.concat(rows.slice(0, 128)), ...pagesOf(rows.slice(128))]
}

/** The upper half of a key's hash. @param {string} key */
const upperHash = (key) => Number(checksum(0n, Buffer.from(key)) >> 32n)

/**
 * A block of keys with one entry, or with another number of entries in its head.
 * @typedef {object} ForgedKeys
 * @property {string} [key]
 * @property {number} [count]
 * @property {number} [keyBytes]
 * @property {number} [valueBytes]
 * @property {number} [width]
 * @property {number} [shift]
 * @property {bigint} [order]
 * @property {number} [hashes]
 * @property {Buffer} [body]
 * @property {readonly number[]} [ends]
 *
 * @param {ForgedKeys} of
 */
export function keyBlockOf({
  key = 'key 0',
  count = 1,
  keyBytes = key.length,
  valueBytes = 5,
  width = 0,
  shift = 24,
  order = 1n << 16n,
  hashes = 1,
  body = Buffer.from(`${key}value`),
  ends = [],
}) {
  const head = pack([
    ['u32', count],
    ['u16', keyBytes],
    ['u16', valueBytes],
    ['u8', width],
    ['u8', shift],
    ['raw', Buffer.alloc(6)],
    ['u64', order],
  ])
  const rows = Array.from({ length: hashes }, () => pack([['u32', upperHash(key)]]))
  return Buffer.concat([head, ...rows, ...ends.map((end) => pack([['u32', end]])), body])
}

/**
 * An entry of a block of keys whose value is in a block of values.
 * @param {string} key
 * @param {number} block
 * @param {number} offset
 * @param {number} bytes
 */
export const placedEntry = (key, block, offset, bytes) =>
  pack([
    ['u8', 2],
    ['text', key],
    ['u32', block],
    ['u32', offset],
    ['u32', bytes],
  ])

/** `bytes` zeros as LZ4 packs them, 255 to one. @param {number} bytes */
export function bomb(bytes) {
  // A literal, a match of the byte before that goes on for 255 per byte of length, five literals at the end.
  const length = bytes - 6 - 4 - 15
  const rest = Buffer.alloc(Math.floor(length / 255) + 1, 0xff)
  rest[rest.length - 1] = length % 255
  return Buffer.concat([Buffer.from([0x1f, 0, 1, 0]), rest, Buffer.from([0x50, 0, 0, 0, 0, 0])])
}
