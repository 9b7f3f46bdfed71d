// @ts-check
// Hostile logs: frames, namespaces, entries, lists of files and attached tables with lengths and counts above the real ones.
import { frameOf, logOf, manifestOf, metaOf, pack } from '../forge.mjs'
import { commit, entry, KEY, LENGTHS, many, MOST, VALUE } from './folder.mjs'

/** @import { Hostile } from './folder.mjs' */

/** Kinds of entries: FORMAT.md. */
const [PUT, ATTACH, PUT_WITH_BLOBS] = [0, 2, 3]

/** A first manifest and this log. @param {readonly Buffer[]} bodies @param {bigint} [order] @returns {Hostile} */
const withLog = (bodies, order) => ({
  files: { 'manifest-1': manifestOf(1n, { nextWriter: 0, lastOrder: 0n }), '0.log': logOf(0n, bodies, order) },
})

/** One commit of these entries. @param {readonly Buffer[]} entries */
const withEntries = (...entries) => withLog([commit(...entries)])

/** An entry that needs the files of this list. @param {Parameters<typeof pack>[0]} fields */
const withBlobs = (...fields) => withEntries(entry(PUT_WITH_BLOBS, KEY, pack(fields)))

/** A commit at some time, with what follows the time. @param {Parameters<typeof pack>[0]} fields */
const withNamespaces = (...fields) => withLog([pack([['u64', 1], ...fields])])

/** A commit that attaches a table. @param {number} index @param {Buffer} meta */
const attach = (index, meta) => entry(ATTACH, pack([['u32', index]]), meta)

/** Tables that are not there, with these highest orders. @param {number} count @param {(index: number) => number} order */
const attached = (count, order) =>
  Array.from({ length: count }, (_, index) =>
    attach(index, metaOf({ writer: 0, index, bytes: 200, root: 1n, numbers: [1, 0, 0, 0, order(index)] })),
  )

/** Entries of 12 bytes each with a key and no value. @param {number} count @param {(index: number) => number} namespace of each */
function tiny(count, namespace) {
  const bytes = Buffer.alloc(count * 12)
  for (let index = 0; index < count; index++) {
    bytes.writeUInt16LE(namespace(index) << 2, index * 12)
    bytes.writeUInt16LE(4, index * 12 + 2)
    bytes.writeUInt32LE(index, index * 12 + 8)
  }
  return bytes
}

const DIGEST = Buffer.alloc(32, 1)

/** @type {Record<string, () => Hostile>} */
export const LOGS = {
  'sound log': () => withEntries(entry(PUT, KEY, VALUE)),
  ...many('frame states bytes', LENGTHS.concat(80 << 20), (bytes) => ({
    files: {
      'manifest-1': manifestOf(1n, { nextWriter: 0 }),
      '0.log': Buffer.concat([
        logOf(0n, []),
        frameOf('CMIT', 1n << 16n, 0n, Buffer.alloc(64), { offset: logOf(0n, []).length, bytes }),
      ]),
    },
  })),
  ...many('value states bytes', LENGTHS, (value) => withEntries(entry(PUT, KEY, VALUE, { value }))),
  'key states bytes': () => withEntries(entry(PUT, KEY, VALUE, { key: 0xffff })),
  'namespaces without end': () => withNamespaces(['u16', 0xffff], ['raw', Buffer.alloc(40)]),
  'empty namespaces': () => withNamespaces(['u16', 0xffff], ['raw', Buffer.alloc(0xffff * 6)]),
  'many namespaces': () => {
    const named = Array.from({ length: 60_000 }, (_, id) =>
      pack([
        ['u16', id],
        ['text', `n${id}`],
        ['text', '1'],
      ]),
    )
    return withNamespaces(['u16', named.length], ['raw', Buffer.concat(named)])
  },
  'name states bytes': () => withNamespaces(['u16', 1], ['u16', 0], ['u16', 0xffff], ['raw', Buffer.from('n')]),
  'order at its end': () => withLog([commit(entry(PUT, KEY, VALUE))], MOST),
  ...many('tiny entries', [1 << 16, 700_000], (count) => withEntries(tiny(count, () => 0))),
  'entries of 12,000 namespaces': () => {
    const names = Array.from({ length: 12_000 }, (_, id) =>
      pack([
        ['u16', id],
        ['text', `n${id}`],
        ['text', '1/1'],
      ]),
    )
    return withNamespaces(
      ['u16', names.length],
      ['raw', Buffer.concat(names)],
      ['raw', tiny(1 << 19, (index) => 11_999 - (index % 2_000))],
    )
  },
  ...many('the same key again and again, bytes', [1 << 20, 8 << 20], (bytes) => withEntries(Buffer.alloc(bytes))),
  'a long key and many of it': () =>
    withEntries(...Array.from({ length: 300 }, (_, index) => entry(PUT, Buffer.alloc(0xffff, index), Buffer.alloc(0)))),
  ...many('files of a value', [0, 1, 0xffff, 0xffffffff], (count) =>
    withBlobs(['u32', count], ['raw', Buffer.alloc(41, 1)]),
  ),
  ...many('packed file states bytes', LENGTHS.concat(64 << 20), (raw) =>
    withBlobs(['u32', 1], ['raw', DIGEST], ['u64', 10], ['u8', 1], ['u32', raw]),
  ),
  ...many('file states bytes', [2 ** 31, 2 ** 32 + 5, 2 ** 62], (bytes) => ({
    ...withBlobs(['u32', 1], ['raw', DIGEST], ['u64', BigInt(bytes)], ['u8', 0]),
    sparse: { [`files/01/${DIGEST.toString('hex')}`]: { bytes: Math.min(bytes, 2 ** 43), tail: Buffer.alloc(0) } },
  })),
  ...many('attached table states', [0n, 1n << 62n, MOST], (number) =>
    withEntries(attach(1, metaOf({ writer: 0, bytes: number, root: number, numbers: Array(10).fill(number) }))),
  ),
  'attach of another length': () => withEntries(attach(1, Buffer.alloc(50))),
  ...many('tables attached', [300, 20_000], (count) => withEntries(...attached(count, () => 0))),
  'tables attached from old to new': () => withEntries(...attached(20_000, (index) => index)),
  'tables attached from new to old': () => withEntries(...attached(20_000, (index) => 20_000 - index)),
}
