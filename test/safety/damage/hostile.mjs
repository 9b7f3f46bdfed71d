// @ts-check
// Hostile folders by name: lengths of 0xff, counts without end, bombs, offsets that overlap, all with checksums that are right.
import { bomb, frameOf, keyBlockOf, logOf, manifestOf, metaOf, pack, placedEntry, tableOf } from './forge.mjs'

/**
 * Files of `v1` by name; of those in `sparse` the length, with the given bytes at their end.
 * @typedef {{ files: Record<string, Buffer>, sparse?: Record<string, { bytes: number, tail: Buffer }> }} Hostile
 */

const MOST = (1n << 64n) - 1n
const NAME = /** @type {const} */ ({ name: 'n', version: '1/1' })
const HEAD = /** @type {const} */ ([
  ['u64', 1_700_000_000_000],
  ['u16', 1],
  ['u16', 0],
  ['text', 'n'],
  ['text', '1/1'],
])
const LENGTHS = [0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff]

/**
 * A manifest that names one table.
 * @param {{ bytes: Buffer, root: bigint }} table
 * @param {Partial<Parameters<typeof metaOf>[0]>} [meta]
 * @returns {Hostile}
 */
const withTable = (table, meta = {}) => ({
  files: {
    'manifest-1': manifestOf(1n, {
      namespaces: [{ ...NAME, latest: 1n << 24n, tables: [metaOf({ bytes: table.bytes.length, root: table.root, ...meta })] }],
    }),
    '1-1.table': table.bytes,
  },
})

/** A first manifest and this log. @param {readonly Buffer[]} bodies @param {bigint} [order] @returns {Hostile} */
const withLog = (bodies, order) => ({
  files: { 'manifest-1': manifestOf(1n, { nextWriter: 0, lastOrder: 0n }), '0.log': logOf(0n, bodies, order) },
})

/** An entry of a commit. @param {number} kind @param {Buffer} key @param {Buffer} value @param {{ key?: number, value?: number }} [says] */
const entry = (kind, key, value, says = {}) =>
  pack([
    ['u16', kind],
    ['u16', says.key ?? key.length],
    ['u32', says.value ?? value.length],
    ['raw', key],
    ['raw', value],
  ])

/** @param {readonly Buffer[]} entries */
const commit = (...entries) => pack([...HEAD, ['raw', Buffer.concat(entries)]])

const KEY = Buffer.from('key 0')
const good = () => tableOf({ keys: [{ bytes: keyBlockOf({}) }] })

/** @type {Record<string, () => Hostile>} */
export const HOSTILE = {
  // One that is not hostile, so that it is known that the forger's files are read at all.
  'sound table': () => withTable(good()),
  'sound log': () => withLog([commit(entry(0, KEY, Buffer.from('value')))]),
  ...many('frame says bytes', LENGTHS.concat(80 << 20), (bytes) => ({
    files: {
      'manifest-1': manifestOf(1n, { nextWriter: 0 }),
      '0.log': Buffer.concat([logOf(0n, []), frameOf('CMIT', 1n << 24n, 0n, Buffer.alloc(64), { offset: 64, bytes })]),
    },
  })),
  ...many('manifest frame says bytes', LENGTHS, (bytes) => ({
    files: { 'manifest-1': frameOf('VMAN', 1n, 1n, Buffer.alloc(64), { bytes }) },
  })),
  ...many('value says bytes', LENGTHS, (value) => withLog([commit(entry(0, KEY, Buffer.from('value'), { value }))])),
  'key says bytes': () => withLog([commit(entry(0, KEY, Buffer.from('value'), { key: 0xffff }))]),
  'namespaces without end': () =>
    withLog([
      pack([
        ['u64', 1],
        ['u16', 0xffff],
        ['raw', Buffer.alloc(40)],
      ]),
    ]),
  'empty namespaces': () =>
    withLog([
      pack([
        ['u64', 1],
        ['u16', 0xffff],
        ['raw', Buffer.alloc(0xffff * 6)],
      ]),
    ]),
  'many namespaces': () =>
    withLog([
      pack([
        ['u64', 1],
        ['u16', 60_000],
        [
          'raw',
          Buffer.concat(
            Array.from({ length: 60_000 }, (_, id) =>
              pack([
                ['u16', id],
                ['text', `n${id}`],
                ['text', '1'],
              ]),
            ),
          ),
        ],
      ]),
    ]),
  'name says bytes': () =>
    withLog([
      pack([
        ['u64', 1],
        ['u16', 1],
        ['u16', 0],
        ['u16', 0xffff],
        ['raw', Buffer.from('n')],
      ]),
    ]),
  'order at its end': () => withLog([commit(entry(0, KEY, Buffer.from('value')))], MOST),
  'tiny entries': () =>
    withLog([commit(Buffer.concat(Array.from({ length: 1 << 16 }, (_, index) => entry(0, pack([['u32', index]]), Buffer.alloc(0)))))]),
  'the same key again and again': () => withLog([commit(Buffer.alloc(1 << 20))]),
  'a long key and many of it': () =>
    withLog([commit(...Array.from({ length: 300 }, (_, index) => entry(0, Buffer.alloc(0xffff, index), Buffer.alloc(0))))]),
  ...many('files of a value', [0, 1, 0xffff, 0xffffffff], (count) =>
    withLog([
      commit(
        entry(
          3,
          KEY,
          pack([
            ['u32', count],
            ['raw', Buffer.alloc(41, 1)],
          ]),
        ),
      ),
    ]),
  ),
  ...many('packed file says bytes', LENGTHS.concat(64 << 20), (raw) =>
    withLog([
      commit(
        entry(
          3,
          KEY,
          pack([
            ['u32', 1],
            ['raw', Buffer.alloc(32, 1)],
            ['u64', 10],
            ['u8', 1],
            ['u32', raw],
          ]),
        ),
      ),
    ]),
  ),
  ...many('file says bytes', [2 ** 31, 2 ** 32 + 5, 2 ** 62], (bytes) => ({
    ...withLog([
      commit(
        entry(
          3,
          KEY,
          pack([
            ['u32', 1],
            ['raw', Buffer.alloc(32, 1)],
            ['u64', BigInt(bytes)],
            ['u8', 0],
          ]),
        ),
      ),
    ]),
    sparse: { [`files/01/${'01'.repeat(32)}`]: { bytes: Math.min(bytes, 2 ** 43), tail: Buffer.alloc(0) } },
  })),
  ...many('attached table says', [0n, 1n << 62n, MOST], (number) =>
    withLog([commit(entry(2, pack([['u32', 1]]), metaOf({ writer: 0, bytes: number, root: number, numbers: Array(10).fill(number) })))]),
  ),
  'attach of another length': () => withLog([commit(entry(2, pack([['u32', 1]]), Buffer.alloc(50)))]),
  'a table attached 300 times': () =>
    withLog([
      commit(
        ...Array.from({ length: 300 }, (_, index) =>
          entry(2, pack([['u32', index]]), metaOf({ writer: 0, index, bytes: 200, root: 1n })),
        ),
      ),
    ]),
  ...many('manifest says logs', LENGTHS, (count) => ({ files: { 'manifest-1': manifestOf(1n, { logs: pack([['u32', count]]) }) } })),
  ...many('manifest says namespaces', LENGTHS, (count) => ({ files: { 'manifest-1': manifestOf(1n, { count }) } })),
  ...many('namespace says tables', LENGTHS, (count) => ({
    files: { 'manifest-1': manifestOf(1n, { namespaces: [{ ...NAME, tables: [], count }] }) },
  })),
  ...many('manifest says next writer', [(1 << 24) - 1, 1 << 24, 0xffffffff], (nextWriter) => ({
    files: { 'manifest-1': manifestOf(1n, { nextWriter }) },
  })),
  ...many('manifest says last order', [MOST, MOST >> 1n, MOST - (1n << 24n)], (lastOrder) => ({
    files: { 'manifest-1': manifestOf(1n, { lastOrder }) },
  })),
  ...many('manifest says a log begins', [1n, 32n, 1n << 40n, MOST - 31n, MOST], (from) => ({
    files: {
      'manifest-1': manifestOf(1n, {
        logs: pack([
          ['u32', 1],
          ['u32', 0],
          ['u64', from],
        ]),
      }),
      '0.log': logOf(0n, [commit(entry(0, KEY, Buffer.from('value')))]),
    },
  })),
  'the last manifest there can be': () => ({ files: { 'manifest-18446744073709551615': manifestOf(MOST, {}) } }),
  '20,000 tables': () => ({
    files: {
      'manifest-1': manifestOf(1n, {
        namespaces: [{ ...NAME, tables: Array.from({ length: 20_000 }, (_, index) => metaOf({ index, bytes: 200, root: 1n })) }],
      }),
    },
  }),
  '20,000 namespaces of one name': () => ({
    files: { 'manifest-1': manifestOf(1n, { namespaces: Array.from({ length: 20_000 }, () => ({ ...NAME, tables: [] })) }) },
  }),
  ...many('table says', [1n << 32n, 1n << 62n, MOST], (number) => withTable(good(), { numbers: Array(10).fill(number) })),
  ...many('table says bytes', [0n, 95n, 1n << 40n, MOST], (bytes) => withTable(good(), { bytes })),
  ...many('footer says key blocks', LENGTHS, (count) => withTable(tableOf({ keys: [{ bytes: keyBlockOf({}) }], counts: [count] }))),
  ...many('footer says value blocks', LENGTHS, (count) => withTable(tableOf({ keys: [{ bytes: keyBlockOf({}) }], counts: [1, count] }))),
  ...many('footer says files', LENGTHS, (count) => withTable(tableOf({ keys: [{ bytes: keyBlockOf({}) }], counts: [1, 0, count] }))),
  ...many('footer says entries', [1n << 32n, 1n << 62n, MOST], (entries) =>
    withTable(tableOf({ keys: [{ bytes: keyBlockOf({}) }], counts: [1, 0, 0, entries] }), { numbers: [entries] }),
  ),
  ...many('footer says directory', [0n, 1n << 40n, MOST - 7n, MOST], (at) =>
    withTable(tableOf({ keys: [{ bytes: keyBlockOf({}) }], counts: [1, 0, 0, 1, at] })),
  ),
  ...many('block says stored', LENGTHS, (stored) => withTable(tableOf({ keys: [{ bytes: keyBlockOf({}), stored }] }))),
  ...many('block says raw', LENGTHS.concat(64 << 20), (raw) => withTable(tableOf({ keys: [{ bytes: keyBlockOf({}), raw }] }))),
  ...many('block says offset', [1n << 40n, MOST - 20n, MOST], (offset) =>
    withTable(tableOf({ keys: [{ bytes: keyBlockOf({}), offset }] })),
  ),
  'blocks in one place': () => withTable(tableOf({ keys: Array.from({ length: 2_000 }, () => ({ bytes: keyBlockOf({}), offset: 0n })) })),
  ...many('key block says entries', LENGTHS.concat(257, 65_536), (count) =>
    withTable(tableOf({ keys: [{ bytes: keyBlockOf({ count }) }] })),
  ),
  ...many('key block says widths', [1, 8, 9, 255], (width) =>
    withTable(tableOf({ keys: [{ bytes: keyBlockOf({ width, shift: 255, order: MOST }) }] })),
  ),
  ...many('entry ends', LENGTHS.concat(0), (end) =>
    withTable(
      tableOf({
        keys: [{ bytes: keyBlockOf({ keyBytes: 0xffff, valueBytes: 0xffff, ends: [end], body: placedEntry('key 0', 0, 0, 5) }) }],
      }),
    ),
  ),
  ...many('value placed', LENGTHS, (at) => withTable(placed(at, 0, 5))),
  ...many('value placed at', LENGTHS, (at) => withTable(placed(0, at, 5))),
  ...many('value placed with bytes', LENGTHS, (bytes) => withTable(placed(0, 1, bytes))),
  ...many('bomb of keys', [1 << 20, 60 << 20, 64 << 20], (bytes) => withTable(tableOf({ keys: [{ bytes: bomb(bytes), raw: bytes }] }))),
  ...many('bomb of values', [1 << 20, 60 << 20, 64 << 20, 512 << 20, 4095 * (1 << 20)], (bytes) =>
    withTable(placed(0, 0, 5, { bytes: bomb(bytes), raw: bytes })),
  ),
  ...many('bombs of values', [20], (count) =>
    withTable(
      tableOf({
        keys: [
          {
            bytes: keyBlockOf({
              keyBytes: 0xffff,
              valueBytes: 0xffff,
              ends: [placedEntry('key 0', 0, 0, 5).length],
              body: placedEntry('key 0', 0, 0, 5),
            }),
          },
        ],
        values: Array.from({ length: count }, () => ({ bytes: bomb(64 << 20), raw: 64 << 20 })),
      }),
    ),
  ),
  ...many('sparse table with directory of blocks', [0x10000000, 0xffffffff], (blocks) => sparseTable(blocks)),
}

/** @param {number} block @param {number} offset @param {number} bytes @param {import('./forge.mjs').ForgedBlock} [values] */
function placed(block, offset, bytes, values = { bytes: Buffer.from('value') }) {
  const body = placedEntry('key 0', block, offset, bytes)
  return tableOf({ keys: [{ bytes: keyBlockOf({ keyBytes: 0xffff, valueBytes: 0xffff, ends: [body.length], body }) }], values: [values] })
}

/** A table that is mostly a hole, with a directory as long as the hole. @param {number} blocks @returns {Hostile} */
function sparseTable(blocks) {
  const { bytes: whole } = tableOf({ keys: [], counts: [blocks, 0, 0, 1, 0] })
  const tail = whole.subarray(-96)
  const bytes = blocks * 28 + tail.length
  const files = withTable({ bytes: tail, root: tail.readBigUInt64LE(88) }, { bytes }).files
  return { files: { 'manifest-1': files['manifest-1'] ?? Buffer.alloc(0) }, sparse: { '1-1.table': { bytes, tail } } }
}

/**
 * A hostile folder for each number.
 * @template {number | bigint} N
 * @param {string} what @param {readonly N[]} numbers @param {(number: N) => Hostile} make @returns {Record<string, () => Hostile>}
 */
function many(what, numbers, make) {
  return Object.fromEntries(numbers.map((number) => [`${what} ${number}`, () => make(number)]))
}
