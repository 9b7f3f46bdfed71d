// @ts-check
// The goals of Varve against its rivals, as data. Ratios are Varve / rival, so smaller is better.

/** @typedef {'wall' | 'cpu' | 'bytes' | 'growth' | 'memory' | 'close' | 'files'} Metric */
/**
 * @typedef {object} Goal
 * @property {string} id a star matches any text
 * @property {string} ours
 * @property {readonly string[]} best the rival, or the best of several
 * @property {string} [bestId] the id at which the rival is measured, if it differs
 * @property {Metric} metric
 * @property {number} max the limit of the ratio, or of Varve's own figure
 * @property {'ratio' | 'ours'} of
 */

const PEER = ['turbo-persistence']
const RAW = ['raw-append'] // not a store, but the speed of the disk with the same bytes
const STORES = ['lmdb', 'redb', 'fjall', 'sqlite']
const NODE_STORES = ['lmdb', 'classic-level', 'better-sqlite3']
const LMDB = ['lmdb', 'lmdb+lz4']
const WEBPACK = ['webpack filesystem']

/** @param {string} id @param {readonly string[]} best @param {Metric} metric @param {number} max @param {string} [ours] @returns {Goal} */
const ratio = (id, best, metric, max, ours = 'varve') => ({ id, ours, best, metric, max, of: 'ratio' })

/** @param {string} id @param {number} native @param {number} [wasm] @returns {Goal[]} */
const node = (id, native, wasm) => [
  ratio(id, NODE_STORES, 'cpu', native, 'varve-native'),
  ...(wasm === undefined ? [] : [ratio(id, NODE_STORES, 'cpu', wasm, 'varve-wasm')]),
]

/** @param {string} size @returns {Goal[]} */
const compaction = (size) => [
  ratio(`compaction/key_8/value_4/entries_${size}/full`, PEER, 'cpu', 0.25),
  ratio(`compaction/key_8/value_4/entries_${size}/full`, ['varve'], 'wall', 0.6, 'varve-2-threads'),
  ratio(`compaction/key_8/value_4/entries_${size}/full`, ['varve'], 'wall', 0.35, 'varve-4-threads'),
]

/** Each value read once by a fresh process. @param {string} size @param {number} get @returns {Goal[]} */
const firstRead = (size, get) => {
  const id = (/** @type {string} */ method) => `first_read/${size}/${method}/random/warm`
  return [
    ratio(id('get'), LMDB, 'cpu', get, 'varve-native'),
    ratio(id('get'), ['lmdb+lz4'], 'cpu', 1, 'varve-wasm'),
    ratio(id('get'), LMDB, 'memory', 1.2, 'varve-native'),
    ratio(id('getMany'), LMDB, 'cpu', 0.5, 'varve-native'),
  ]
}

/** The limits of a long relaxed run: megabytes, milliseconds, files. @param {[Metric, number]} limit @returns {Goal} */
const ours = ([metric, max]) => ({ ...ratio('sequential/items_10M/*/relaxed', STORES, metric, max), of: 'ours' })

/** @type {readonly Goal[]} */
export const GOALS = [
  ratio('write/key_8/value_4/entries_853Ki', PEER, 'cpu', 0.35),
  ratio('write/key_4/value_32Ki/entries_319', PEER, 'cpu', 0.6),
  ratio('write/key_4/value_32Ki/entries_3.12Ki', PEER, 'cpu', 0.4),
  ...['4Mi/commits_8', '4Mi/commits_32', '16Mi/commits_128'].flatMap(compaction),
  ratio('lookup/entries_1000Ki/hit/cached/file_order', PEER, 'cpu', 0.5),
  ratio('lookup/entries_1000Ki/hit/cached/random', PEER, 'cpu', 0.3),
  ratio('lookup/entries_1000Ki/hit/uncached/*', PEER, 'cpu', 0.3),
  ratio('lookup/entries_1000Ki/miss/uncached/*', PEER, 'cpu', 0.3),
  ratio('lookup/entries_1000Ki/miss/cached/*', PEER, 'cpu', 0.2),
  ratio('lookup/store/tables_20/miss', PEER, 'cpu', 0.2),
  ratio('lookup/store/tables_200/miss', PEER, 'cpu', 0.2),
  { ...ratio('lookup/store/tables_200/miss', ['varve'], 'cpu', 3), bestId: 'lookup/store/tables_4/miss' },
  ratio('sequential/items_*/durable', RAW, 'wall', 1 / 1.2),
  ratio('sequential/items_*/durable', STORES, 'wall', 1 / 3),
  ratio('sequential/items_*/relaxed', RAW, 'wall', 1 / 0.35),
  ratio('sequential/items_*/relaxed', STORES, 'wall', 1),
  ours(['memory', 300]),
  ours(['close', 2_000]),
  ours(['files', 63]),
  ratio('open/entries_1Mi/commits_128/warm', PEER, 'wall', 0.5),
  ratio('open/entries_1Mi/commits_128/cold', PEER, 'wall', 0.5),
  ...firstRead('50k_x_1Ki', 0.5),
  ...firstRead('20k_x_4Ki', 0.6),
  ...firstRead('5k_x_32Ki', 0.8),
  ...node('js/get/hit/value_128', 0.25, 0.6),
  ratio('js/get/shared/value_128', LMDB, 'cpu', 0.5, 'varve-native'),
  ratio('js/get/shared/value_4Ki', LMDB, 'cpu', 0.7, 'varve-native'),
  ratio('js/get/shared/value_32Ki', LMDB, 'cpu', 1, 'varve-native'),
  ...node('js/get/miss', 0.25, 0.6),
  ...node('js/getMany/1000', 0.5),
  ...node('js/commit/10k', 0.5),
  ...node('js/commit/10k/relaxed', 0.5),
  ...node('js/open+first_get', 0.5),
  ratio('wasm/write/key_8/value_4/entries_853Ki', ['varve-native'], 'cpu', 2.5, 'varve-wasm'),
  ratio('wasm/compaction/key_8/value_4/entries_4Mi/commits_8/full', ['varve-native'], 'cpu', 2.5, 'varve-wasm'),
  ratio('webpack/warm/modules_3000', WEBPACK, 'wall', 0.9),
  ratio('webpack/warm/modules_3000', WEBPACK, 'bytes', 0.6),
  { ...ratio('webpack/growth/*', WEBPACK, 'growth', 1.5), of: 'ours' },
]

/** @param {Goal} goal @param {string} id */
export function isGoalOf({ id: pattern }, id) {
  const [start = '', ...others] = pattern.split('*')
  const end = others.at(-1)
  if (end === undefined) return id === pattern
  return id.length >= start.length + end.length && id.startsWith(start) && id.endsWith(end)
}

/** Prefixes of the ids with goals. */
export const goalPrefixes = () => [
  ...new Set(GOALS.flatMap(({ id, bestId }) => [id, bestId ?? id]).map((id) => id.slice(0, `${id}*`.indexOf('*')))),
]
