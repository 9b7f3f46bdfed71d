// @ts-check
// Hostile tables: false footers, directories and blocks, bombs, overlapping blocks, holes.
import { bomb, keyBlockOf, manifestOf, metaOf, placedEntry, tableOf } from '../forge.mjs'
import { LENGTHS, many, MOST, NAME, VALUE } from './folder.mjs'

/** @import { ForgedBlock, ForgedKeys } from '../forge.mjs' */
/** @import { Hostile } from './folder.mjs' */

/**
 * A manifest that names one table.
 * @param {{ bytes: Buffer, root: bigint }} table
 * @param {Partial<Parameters<typeof metaOf>[0]>} [meta]
 * @returns {Hostile}
 */
const withTable = (table, meta = {}) => ({
  files: {
    'manifest-1': manifestOf(1n, {
      namespaces: [
        { ...NAME, latest: 1n << 24n, tables: [metaOf({ bytes: table.bytes.length, root: table.root, ...meta })] },
      ],
    }),
    '1-1.table': table.bytes,
  },
})

/** A table of one block of keys; its directory and footer may contradict it. */
const oneBlock = (
  /** @type {Partial<ForgedBlock>} */ stated = {},
  /** @type {readonly (number | bigint)[]} */ counts = [],
) => tableOf({ keys: [{ bytes: keyBlockOf({}), ...stated }], counts })

/** A table of this block of keys. @param {ForgedKeys} of @param {readonly ForgedBlock[]} [values] */
const ofKeys = (of, values) =>
  tableOf({ keys: [{ bytes: keyBlockOf(of) }], ...(values === undefined ? {} : { values }) })

/** A block of keys with entries of any length. @param {Buffer} body @param {number} [end] */
const mixedKeys = (body, end = body.length) => ({ keyBytes: 0xffff, valueBytes: 0xffff, ends: [end], body })

/** A table whose entry has its value somewhere. @param {number} block @param {number} offset @param {number} bytes @param {ForgedBlock[]} [values] */
const placed = (block, offset, bytes, values = [{ bytes: VALUE }]) =>
  withTable(ofKeys(mixedKeys(placedEntry('key 0', block, offset, bytes)), values))

/** @param {number} bytes @returns {ForgedBlock} */
const bombOf = (bytes) => ({ bytes: bomb(bytes), raw: bytes })

/** @type {Record<string, () => Hostile>} */
export const TABLES = {
  'sound table': () => withTable(oneBlock()),
  ...many('table states', [1n << 32n, 1n << 62n, MOST], (number) =>
    withTable(oneBlock(), { numbers: Array(10).fill(number) }),
  ),
  ...many('table states bytes', [0n, 95n, 1n << 40n, MOST], (bytes) => withTable(oneBlock(), { bytes })),
  ...many('footer states key blocks', LENGTHS, (count) => withTable(oneBlock({}, [count]))),
  ...many('footer states value blocks', LENGTHS, (count) => withTable(oneBlock({}, [1, count]))),
  ...many('footer states files', LENGTHS, (count) => withTable(oneBlock({}, [1, 0, count]))),
  ...many('footer states entries', [1n << 32n, 1n << 62n, MOST], (entries) =>
    withTable(oneBlock({}, [1, 0, 0, entries]), { numbers: [entries] }),
  ),
  ...many('footer states directory', [0n, 1n << 40n, MOST - 7n, MOST], (at) =>
    withTable(oneBlock({}, [1, 0, 0, 1, at])),
  ),
  ...many('block states stored', LENGTHS, (stored) => withTable(oneBlock({ stored }))),
  ...many('block states raw', LENGTHS.concat(64 << 20), (raw) => withTable(oneBlock({ raw }))),
  ...many('block states offset', [1n << 40n, MOST - 20n, MOST], (offset) => withTable(oneBlock({ offset }))),
  'blocks in one place': () =>
    withTable(tableOf({ keys: Array.from({ length: 2_000 }, () => ({ bytes: keyBlockOf({}), offset: 0n })) })),
  ...many('key block states entries', LENGTHS.concat(257, 65_536), (count) => withTable(ofKeys({ count }))),
  ...many('key block states widths', [1, 8, 9, 255], (width) => withTable(ofKeys({ width, shift: 255, order: MOST }))),
  ...many('entry ends', LENGTHS.concat(0), (end) => withTable(ofKeys(mixedKeys(placedEntry('key 0', 0, 0, 5), end)))),
  ...many('value placed', LENGTHS, (at) => placed(at, 0, 5)),
  ...many('value placed at', LENGTHS, (at) => placed(0, at, 5)),
  ...many('value placed with bytes', LENGTHS, (bytes) => placed(0, 1, bytes)),
  ...many('bomb of keys', [1 << 20, 60 << 20, 64 << 20], (bytes) => withTable(tableOf({ keys: [bombOf(bytes)] }))),
  ...many('bomb of values', [1 << 20, 60 << 20, 64 << 20, 512 << 20, 4095 * (1 << 20)], (bytes) =>
    placed(0, 0, 5, [bombOf(bytes)]),
  ),
  ...many('bombs of values', [20], (count) =>
    placed(
      0,
      0,
      5,
      Array.from({ length: count }, () => bombOf(64 << 20)),
    ),
  ),
  ...many('sparse table with directory of blocks', [0x10000000, 0xffffffff], (blocks) => sparseTable(blocks)),
}

/** A table that is mostly a hole, with a directory as long as the hole. @param {number} blocks @returns {Hostile} */
function sparseTable(blocks) {
  const directoryAt = blocks * 25 // a byte and a row for each block
  const { bytes: whole } = tableOf({ keys: [], counts: [blocks, 0, 0, 1, directoryAt] })
  const tail = whole.subarray(-96)
  const bytes = directoryAt + blocks * 4 + Math.ceil(blocks / 128) * 8 + tail.length
  const { '1-1.table': _, ...files } = withTable({ bytes: tail, root: tail.readBigUInt64LE(88) }, { bytes }).files
  return { files, sparse: { '1-1.table': { bytes, tail } } }
}
