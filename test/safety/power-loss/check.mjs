// @ts-check
// Checks one state: opens it as a build tool would, reads everything, commits, verifies, and reopens it with the other engine.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { contentsOf, valueBytes } from './expected.mjs'
import { matchesOf, read, shown, Wrong } from './content.mjs'
import { versionsOf } from './workloads.mjs'

/** @import { Cache } from 'varve' */
/** @import { Found } from './content.mjs' */
/** @import { Content, Expectation } from './expected.mjs' */
/** @import { Workload } from './workloads.mjs' */

/** @typedef {'native' | 'wasm'} EngineName */
/**
 * `matches`: which contents it can be. `lost`: the contents of commits whose stored files are lost.
 * @typedef {{ problem?: string | undefined, matches: readonly number[], lost: readonly number[] }} Verdict
 */

/** What was put after the crash. */
const NEXT = { space: 'n', key: 'next', bytes: 500, number: 9999 }

export class Checker {
  #workload
  #folder
  /** @type {readonly Content[]} */
  contents = []
  /** @type {readonly number[]} */
  numbers = []
  /** @type {Map<string, Expectation[]>} */
  #known = new Map()
  #isDamaged
  #count = 0

  /** @param {Workload} workload @param {string} folder an empty one of ours */
  constructor(workload, folder) {
    this.#workload = workload
    this.#folder = folder
    this.#isDamaged = workload.damage !== undefined
    this.#expect(undefined)
  }

  /** @param {ReadonlySet<string> | undefined} readable */
  #expect(readable) {
    const { contents, numbers } = contentsOf(this.#workload, readable)
    this.contents = contents
    this.numbers = numbers
    this.#known = new Map()
    for (const content of contents) for (const [key, one] of content) this.#known.set(key, [...(this.#known.get(key) ?? []), one])
  }

  /** Learns what the folder that the recording starts with holds. @param {ReadonlyMap<string, Buffer | null>} files */
  async learn(files) {
    if (!this.#isDamaged) return
    const found = await this.#withFolder(files, (dir) => this.#read(dir, 'native'))
    this.#expect(new Set(found.keys()))
    if (!matchesOf(found, this.contents).includes(0)) throw new Error(`the damaged folder of ${this.#workload.name} reads as ${shown(found)}`)
  }

  /** @param {ReadonlyMap<string, Buffer | null>} files @param {EngineName} engine @param {boolean} isThorough @returns {Promise<Verdict>} */
  async check(files, engine, isThorough) {
    try {
      return await this.#withFolder(files, (dir) => this.#check(dir, engine, isThorough))
    } catch (error) {
      const text = error instanceof Error ? `${error.name} ${'code' in error ? String(error.code) : ''} ${error.message}` : String(error)
      return { problem: error instanceof Wrong ? error.message : text, matches: [], lost: [] }
    }
  }

  /** @template T @param {ReadonlyMap<string, Buffer | null>} files @param {(dir: string) => Promise<T>} run */
  async #withFolder(files, run) {
    const root = join(this.#folder, `s${this.#count++}`)
    try {
      place(root, files)
      return await run(join(root, 'cache'))
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }

  /** @param {string} dir @param {EngineName} engine @param {boolean} isThorough @returns {Promise<Verdict>} */
  async #check(dir, engine, isThorough) {
    const found = await this.#read(dir, engine)
    const matches = matchesOf(found, this.contents)
    if (matches.length === 0) throw new Wrong(`no committed state: ${shown(found)}`)
    // Files of relaxed commits may be lost in a crash: then they are misses, and compaction drops their entries.
    const isWhole = [...found.values()].every(({ isLost }) => !isLost)
    compare(found, await this.#commitNext(dir, engine, isWhole))
    const other = engine === 'native' ? 'wasm' : 'native'
    if (isThorough || this.#isDamaged) compare(found, await this.#read(dir, other, isWhole || this.#isDamaged))
    const newest = matches.at(-1) ?? 0
    const lost = [...found.values()].filter(({ isLost }) => isLost).map(({ number }) => this.numbers.indexOf(number))
    return { matches, lost: lost.map((index) => Math.min(Math.max(index, 0), newest)) }
  }

  /** @param {string} dir @param {EngineName} engine @param {boolean} [compacts] @returns {Promise<Found>} */
  async #read(dir, engine, compacts = false) {
    const cache = await openCache({ name: 'checked', dir, engine, onWarning: () => {} })
    try {
      if (compacts) {
        await cache.compact({ full: true })
        await sound(cache)
      }
      return await this.#readFrom(cache, dir, engine)
    } finally {
      await cache.close()
    }
  }

  /** @param {string} dir @param {EngineName} engine @param {boolean} isWhole @returns {Promise<Found>} */
  async #commitNext(dir, engine, isWhole) {
    const cache = await openCache({ name: 'checked', dir, engine, onWarning: () => {} })
    try {
      cache.namespace('n', { version: '1' }).put(NEXT.key, valueBytes(NEXT))
      await cache.commit({ durability: 'durable' })
      if (isWhole && this.#workload.damage !== 'table') await sound(cache)
      return await this.#readFrom(cache, dir, engine)
    } finally {
      await cache.close()
    }
  }

  /**
   * Older versions of a namespace are read by a handle of their own.
   * @param {Cache} cache
   * @param {string} dir
   * @param {EngineName} engine
   * @returns {Promise<Found>}
   */
  async #readFrom(cache, dir, engine) {
    const known = new Map([...this.#known, [`n@1/${NEXT.key}`, [{ ...NEXT, files: undefined }]]])
    const target = join(dir, '..', 'restored')
    const [version, ...older] = versionsOf(this.#workload).v
    const versions = new Map([['n', '1'], ['outputs', '1']])
    if (version !== undefined) versions.set('v', version)
    const found = await read(cache, versions, known, target)
    for (const one of older) {
      const other = await openCache({ name: 'checked', dir, engine, onWarning: () => {} })
      for (const [key, value] of await read(other, new Map([['v', one]]), known, target)) found.set(key, value)
      await other.close()
    }
    return found
  }
}

/** @param {string} root @param {ReadonlyMap<string, Buffer | null>} files by path, parents first; `null` is a folder */
function place(root, files) {
  mkdirSync(root, { recursive: true })
  for (const [path, bytes] of files) {
    if (bytes === null) mkdirSync(join(root, path))
    else writeFileSync(join(root, path), bytes, { mode: 0o600 })
  }
}

/** The next commit is there, and so is everything else. @param {Found} found @param {Found} again */
function compare(found, again) {
  const next = `n@1/${NEXT.key}`
  if (again.get(next)?.number !== NEXT.number) throw new Wrong(`the next commit is not there: ${shown(again)}`)
  for (const key of new Set([...found.keys(), ...again.keys()])) {
    const [before, after] = [found.get(key), again.get(key)]
    const isDropped = before?.isLost === true && after === undefined
    if (key !== next && !isDropped && before?.number !== after?.number) {
      throw new Wrong(`after the next commit ${key} is of commit ${after?.number} instead of ${before?.number}`)
    }
  }
}

/** @param {Cache} cache */
async function sound(cache) {
  const report = await cache.verify()
  if (!report.sound) throw new Wrong(`verify finds damage: ${JSON.stringify(report.damage)}`)
}
