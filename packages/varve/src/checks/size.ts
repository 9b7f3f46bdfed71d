/** Sizes as people write them. */

const UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
}

/**
 * Bytes of a text such as `'500MB'`, `'1.5 GiB'` or `'4096'`, rounded down; undefined if the text is not a size. KB, MB, GB
 * and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024, in any case of letters.
 */
export function byteSize(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,15}(?:\.\d{1,6})?) ?([a-z]{0,3})$/i.exec(text.trim()) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const factor = unit === '' ? 1 : UNITS[unit.toLowerCase()]
  return factor === undefined ? undefined : Math.floor(Number(amount) * factor)
}
