/** Random numbers from a seed that is printed, so that a failure can be repeated with VARVE_SEED. */
export { pick, type Random, randomOf } from './safety/random.mjs'

/** Seed of this run: VARVE_SEED, or any. */
export function runSeed(name: string): number {
  const given = Number(process.env['VARVE_SEED'])
  const seed = Number.isSafeInteger(given) && given > 0 ? given : Math.floor(Math.random() * 2 ** 31)
  process.stdout.write(`${name}: VARVE_SEED=${seed}\n`)
  return seed
}
