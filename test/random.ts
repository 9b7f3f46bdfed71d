/** Random numbers from a seed that is printed, so that a failure can be repeated with VARVE_SEED. */

/** Numbers below a bound, the same for the same seed (splitmix32). */
export type Random = (below: number) => number

/** Seed of this run: VARVE_SEED, or any. */
export function runSeed(name: string): number {
  const given = Number(process.env['VARVE_SEED'])
  const seed = Number.isSafeInteger(given) && given > 0 ? given : Math.floor(Math.random() * 2 ** 31)
  process.stdout.write(`${name}: VARVE_SEED=${seed}\n`)
  return seed
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0
    let value = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    value = Math.imul(value ^ (value >>> 15), 0x735a2d97)
    return ((value ^ (value >>> 15)) >>> 0) % below
  }
}
