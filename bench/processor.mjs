// @ts-check
// The processor of a measurement, which each bench prints, and its time: ratios measured on one say little about another.
import { availableParallelism, cpus, loadavg } from 'node:os'

/** The model of the processor. */
export const processor = () => cpus()[0]?.model.trim() ?? 'unknown processor'

/** Prints the processor, the load and Node.js to stderr, beside figures that other programs may parse. */
export function printProcessor() {
  const load = loadavg()[0]?.toFixed(1)
  process.stderr.write(
    `${processor()}, ${availableParallelism()} cores, load ${load}, Node.js ${process.versions.node}\n`,
  )
}

/** CPU time of this process in milliseconds, user and system: all, or since an earlier `process.cpuUsage()`. @param {NodeJS.CpuUsage} [start] */
export function cpuMs(start) {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
