/** Random numbers from a seed that is printed, so that a failure can be repeated with VARVE_SEED. */
import type { Random } from './safety/random.mjs'

export { type Random, randomOf } from './safety/random.mjs'

/** One of a list. */
export function pick<T>(random: Random, list: readonly T[]): T {
  const found = list[random(list.length)]
  if (found === undefined) throw new Error('the list is empty')
  return found
}

/** Seed of this run: VARVE_SEED, or any. */
export function runSeed(name: string): number {
  const given = Number(process.env['VARVE_SEED'])
  const seed = Number.isSafeInteger(given) && given > 0 ? given : Math.floor(Math.random() * 2 ** 31)
  process.stdout.write(`${name}: VARVE_SEED=${seed}\n`)
  return seed
}
