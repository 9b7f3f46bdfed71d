/** Numbers, sizes and times for people. */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']
const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000]

/** '1,234'. */
export function count(value: number): string {
  return value.toLocaleString('en')
}

/** '1 entry', '1,234 entries'. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** '1.5 MiB'. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length)
  return `${rounded(bytes / 1024 ** power)} ${UNITS[power - 1]}`
}

/** '340 ms', '14.2 s', '3 min', '1.5 h'. */
export function duration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`
  if (ms < MINUTE_MS) return `${rounded(ms / SECOND_MS)} s`
  return ms < HOUR_MS ? `${rounded(ms / MINUTE_MS)} min` : `${rounded(ms / HOUR_MS)} h`
}

/** Date and time; '-' for 0, unknown. */
export function date(timeMs: number): string {
  return timeMs === 0 ? '-' : new Date(timeMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
}

/** '98.5 %'; '-' of nothing. */
export function percent(part: number, all: number): string {
  return all === 0 ? '-' : `${rounded((100 * part) / all)} %`
}

function rounded(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 })
}
