// @ts-check
// `node bench/first-read/main.mjs`: what a warm build does. A fresh process opens a store and reads each value once.
//
//   first_read/<entries>x<bytes>/{get, getMany, getManyAsync}/{put_order, random}/{warm, cold}
//
// `cold`: the files of the store are not in the system's page cache. Batches of getMany have 500 keys. All figures begin when
// the process has its keys, before it imports the store; memory is the peak above that of bare Node. Subjects take turns, and figures are medians.
//
//   --quick          only random order and a warm page cache, in few rounds
//   --only <prefix>  only ids with this prefix; may be repeated
//   --rounds <n>     this number of rounds
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../../scripts/common/root.mjs'
import { setup } from '../../scripts/setup.mjs'
import { runMain, step } from '../../scripts/common/steps.mjs'
import { keyOf } from '../api/data.mjs'
import { median } from '../median.mjs'
import { installRivals } from '../rivals/node/install.mjs'
import { NAMES, subjectOf } from './subjects.mjs'
import { readText } from './text.mjs'
import { printProcessor } from '../processor.mjs'

/** @typedef {import('./read.mjs').Sample} Sample */
/** @typedef {{ id: string, entries: number, bytes: number }} Size */

const SIZES = [
  { id: '50k_x_1Ki', entries: 50_000, bytes: 1024 },
  { id: '20k_x_4Ki', entries: 20_000, bytes: 4096 },
  { id: '5k_x_32Ki', entries: 5_000, bytes: 32_768 },
  // More than the cache of blocks has room for.
  { id: '200k_x_1Ki', entries: 200_000, bytes: 1024 },
]
const METHODS = ['get', 'getMany', 'getManyAsync']
const ORDERS = ['put_order', 'random']
/** A file for each entry takes long to fill and to read, so cacache runs only the full form, and not the largest size. */
const CACACHE_ENTRIES_MAX = 50_000
const ROUNDS = 9
const ROUNDS_QUICK = 3

const OPTIONS = /** @type {const} */ ({
  quick: { type: 'boolean' },
  only: { type: 'string', multiple: true },
  rounds: { type: 'string' },
})
const { values: options } = parseArgs({ options: OPTIONS })
const isQuick = options.quick ?? false
const rounds = Number(options.rounds ?? (isQuick ? ROUNDS_QUICK : ROUNDS))
const only = options.only ?? ['']

/** Fills a store as a build does: commits of 500 entries, then a close. @param {string} name @param {string} dir @param {Size} size */
async function fill(name, dir, { entries, bytes }) {
  const text = readText(entries * bytes)
  const valueOf = (/** @type {number} */ index) => text.subarray(index * bytes, (index + 1) * bytes)
  const all = Array.from({ length: entries }, (_, index) => /** @type {const} */ ([keyOf(index), valueOf(index)]))
  const store = await (await subjectOf(name)).open(dir, 'relaxed')
  for (let start = 0; start < entries; start += 500) await store.commit(all.slice(start, start + 500))
  await store.close()
}

/** Removes the files of a directory from the page cache of the system. @param {string} dir */
function drop(dir) {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    execFileSync('dd', [
      `if=${file}`,
      `of=${file}`,
      'conv=notrunc,fdatasync',
      'oflag=nocache',
      'count=0',
      'status=none',
    ])
  }
}

/** @param {readonly (string | number)[]} args @returns {Sample} */
function sample(args) {
  return JSON.parse(
    execFileSync(process.execPath, [join(import.meta.dirname, 'read.mjs'), ...args.map(String)], { encoding: 'utf8' }),
  )
}

/**
 * @param {string} id
 * @param {(name: string) => readonly (string | number)[]} argsOf the arguments of `read.mjs`
 * @param {readonly string[]} names
 * @param {(name: string) => void} before called before each process
 */
function measure(id, argsOf, names, before) {
  /** @type {Map<string, Sample[]>} */
  const samples = new Map(names.map((name) => [name, []]))
  const bare = median(Array.from({ length: 3 }, () => sample([]).memory))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length] ?? ''
      before(name)
      samples.get(name)?.push(sample(argsOf(name)))
    }
  }
  for (const [name, all] of samples) {
    for (const [metric, unit] of /** @type {const} */ ([
      ['wall', 'ms'],
      ['cpu', 'ms'],
      ['memory', 'MB'],
    ])) {
      const value = median(all.map((one) => one[metric])) - (metric === 'memory' ? bare : 0)
      process.stdout.write(
        `${JSON.stringify({ id, name, metric, value: Math.round(value * 10) / 10, unit, rounds })}\n`,
      )
    }
  }
}

/** @param {string} base @param {Size} size */
async function measureSize(base, size) {
  const ids = METHODS.flatMap((method) =>
    ORDERS.flatMap((order) => ['warm', 'cold'].map((pages) => ({ method, order, pages }))),
  )
  const chosen = ids
    .filter(({ order, pages }) => !isQuick || (order === 'random' && pages === 'warm'))
    .map((way) => ({ ...way, id: `first_read/${size.id}/${way.method}/${way.order}/${way.pages}` }))
    .filter(({ id }) => only.some((prefix) => id.startsWith(prefix)))
  for (const { id, method, order, pages } of chosen) {
    const withCacache = !isQuick && size.entries <= CACACHE_ENTRIES_MAX
    const names = NAMES.filter(
      (name) => (method !== 'getManyAsync' || name.startsWith('varve')) && (name !== 'cacache' || withCacache),
    )
    for (const name of names) {
      const dir = join(base, size.id, name)
      if (!existsSync(dir)) await step(`fill ${name}, ${size.id}`, () => fill(name, dir, size))
    }
    const dirOf = (/** @type {string} */ name) => join(base, size.id, name)
    const before = pages === 'cold' ? (/** @type {string} */ name) => drop(dirOf(name)) : () => undefined
    await step(id, async () =>
      measure(id, (name) => [name, dirOf(name), size.entries, size.bytes, method, order], names, before),
    )
  }
}

await runMain(async () => {
  await setup()
  await installRivals()
  printProcessor()
  mkdirSync(at('target/bench'), { recursive: true })
  const base = mkdtempSync(at('target/bench/first-read-'))
  try {
    for (const size of SIZES) await measureSize(base, size)
  } finally {
    rmSync(base, { recursive: true })
  }
})
