// @ts-check
// What benches share that measure variants in turn: options, checkouts to compare, a process for each sample, the order of turns, medians.
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { root } from '../scripts/common/root.mjs'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const SAMPLE = '--sample'

/**
 * Runs a bench. In the process of a sample, which `sampleOf` starts, this prints what `measure` returns. Otherwise it runs `compare`.
 * @template Order
 * @param {(order: Order) => unknown} measure
 * @param {() => unknown} compare
 */
export async function runBench(measure, compare) {
  const [flag, order = ''] = process.argv.slice(2)
  if (flag === SAMPLE) return void console.log(JSON.stringify(await measure(JSON.parse(order))))
  printProcessor()
  await compare()
}

/**
 * Takes a sample in a fresh process: what `measure` of this bench returns for the order.
 * @param {unknown} order @param {{ cwd?: string }} [options]
 */
export function sampleOf(order, options = {}) {
  const args = [process.argv[1] ?? '', SAMPLE, JSON.stringify(order)]
  return JSON.parse(
    execFileSync(process.execPath, args, { ...options, encoding: 'utf8' })
      .trim()
      .split('\n')
      .at(-1) ?? '',
  )
}

/**
 * Options with their defaults, and the checkouts to compare by their names: those that arguments name, which have to be built, and this one.
 * @template {Record<string, string | number | boolean>} Options
 * @param {Options} defaults
 */
export function readArguments(defaults) {
  const types = Object.entries(defaults).map(([name, value]) => [
    name,
    { type: typeof value === 'boolean' ? 'boolean' : 'string' },
  ])
  const { values, positionals } = parseArgs({ allowPositionals: true, options: Object.fromEntries(types) })
  const given = Object.entries(values).map(([name, value]) => [
    name,
    typeof defaults[name] === 'number' ? Number(value) : value,
  ])
  /** @type {Options} */
  const options = { ...defaults, ...Object.fromEntries(given) }
  /** @type {Record<string, string>} */
  const checkouts = { ...Object.fromEntries(positionals.map((path) => [path, resolve(path)])), [root]: root }
  return { options, checkouts }
}

/** `openCache` of a built checkout. @param {string} checkout @returns {Promise<typeof import('varve').openCache>} */
export async function openCacheOf(checkout) {
  return (await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)).openCache
}

/**
 * Samples of all variants by their names. Each round measures all of them, every other round in reverse, so that none always follows the same one.
 * @template {string} Name
 * @template Variant
 * @template Sample
 * @param {Readonly<Record<Name, Variant>>} variants
 * @param {number} rounds
 * @param {(variant: Variant, round: number) => Sample | Promise<Sample>} measure
 */
export async function inTurn(variants, rounds, measure) {
  const names = /** @type {Name[]} */ (Object.keys(variants))
  const samples = /** @type {Record<Name, Sample[]>} */ ({})
  for (const name of names) samples[name] = []
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      samples[name].push(await measure(variants[name], round))
  }
  return samples
}

/** The median of each figure. @template {string} Figure @param {readonly Readonly<Record<Figure, number>>[]} samples */
export function mediansOf(samples) {
  const figures = /** @type {Figure[]} */ (Object.keys(samples[0] ?? {}))
  return /** @type {Record<Figure, number>} */ (
    Object.fromEntries(figures.map((name) => [name, median(samples.map((one) => one[name]))]))
  )
}
