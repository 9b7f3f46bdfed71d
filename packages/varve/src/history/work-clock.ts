/**
 * Measures what each of several works costs while they run at the same time on one thread: CPU time of the thread where the host reports
 * it (Node.js 23.9 and newer), otherwise the time in which the thread was busy. Waiting costs nothing. Time in which several run counts for
 * each in equal parts, so all costs together never exceed the time that passed.
 */
import { runningMs } from '../host/now.ts'

let running = 0
/** Milliseconds that a work would have cost that ran from the beginning of the process. */
let shareMs = 0
let lookedMs = 0

/**
 * Begins a work of this thread, for `BuildCounts.savedMs`. The returned function ends it and returns its cost in
 * milliseconds, to a tenth. Call it once, also if the work fails.
 */
export function startWork(): () => number {
  const startMs = look()
  running += 1
  return () => {
    const costMs = look() - startMs
    running -= 1
    return Math.round(costMs * 10) / 10
  }
}

/** Whether costs are CPU time of the thread. */
export function isCpuTime(): boolean {
  return typeof threadCpuUsage() === 'function'
}

function look(): number {
  const nowMs = spentMs()
  if (running > 0) shareMs += Math.max(0, nowMs - lookedMs) / running
  lookedMs = nowMs
  return shareMs
}

/** Milliseconds that this thread has spent since some time. */
function spentMs(): number {
  const usage = threadCpuUsage()?.()
  if (usage !== undefined) return (usage.user + usage.system) / 1000
  const { performance }: Host = globalThis
  return runningMs() - (performance?.eventLoopUtilization?.().idle ?? 0)
}

/** What hosts other than Node.js, and older ones, do not have. */
interface Host {
  readonly performance?: { readonly timeOrigin?: number; eventLoopUtilization?(): { readonly idle: number } }
  readonly process?: { readonly versions?: object; threadCpuUsage?(): CpuTime }
}

/** In microseconds. */
interface CpuTime {
  readonly user: number
  readonly system: number
}

function threadCpuUsage(): (() => CpuTime) | undefined {
  const { process }: Host = globalThis
  return process?.threadCpuUsage?.bind(process)
}
