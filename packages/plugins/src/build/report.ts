/**
 * What a build did with its cache: counts, and the line at its end, which is also in the job summary of GitHub Actions:
 *
 *   varve: 1,998 of 2,000 modules from cache, 14.2 s of work, 2 rebuilt (babel.config.js changed)
 *
 * With a remote, it goes on with what the build got from there, and what that took:
 *
 *   ; remote: results from 3 layers, 12.3 MB fetched in 0.8 s
 */
import type { BuildCounts, RemoteReport, Task } from 'varve'
import { disk, environment } from '../host/files.ts'
import { isCpuTime, noteOutput, REFUSED, reasonWords } from 'varve/internal'
import type { CachedStats, ReportOption } from './options.ts'

/** Reasons that a line names. */
const REASONS_MAX = 3

/** Characters that a terminal or a log interprets. Reasons contain names that were read from the cache. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Surrogate}\p{Zl}\p{Zp}]/gu

const REASON = /^(?:file|env|input|changed) (.+)$/
/** Words that are a sentence already. */
const SENTENCE =
  / (?:->|appeared|changed|is gone|was set|is no longer set|variables are set|is a new dependency|gets other)/

/** The option, or VARVE_REPORT if it is not set. */
export function reportOf(option: ReportOption | undefined): ReportOption {
  const { VARVE_REPORT: given = '' } = environment()
  return option ?? (given === 'summary' ? given : given !== '' && given !== '0')
}

/** What a build did with its cache. */
export interface ReportedBuild {
  readonly tool: string
  readonly counts: BuildCounts
  /**
   * Whether `savedMs` is CPU time of the work without that of the hits, so that the build has saved it. Otherwise it is the time of the
   * work, and a hit may take as long.
   */
  readonly isSaved: boolean
  /** `remote` of the status of its cache. */
  readonly remote: RemoteReport | undefined
}

/** Prints the line through `info`, if `report` requests it. A summary that cannot be written is ignored. */
export function reportBuild(
  report: ReportOption,
  { tool, counts, isSaved, remote }: ReportedBuild,
  info: (text: string) => void,
): void {
  if (report === false) return
  const line = `${lineOf(counts, isSaved)}${remote === undefined ? '' : `; remote: ${remoteLineOf(remote)}`}`
  info(`varve: ${line}`)
  const { GITHUB_STEP_SUMMARY: summary = '' } = environment()
  if (report !== 'summary' || summary === '') return
  try {
    noteOutput(summary, '/') // whoever looks for it finds what Varve wrote, which is no input of a build
    disk.appendFileSync(summary, `- **varve, ${tool}**: \`${line.replaceAll('`', "'")}\`\n`)
  } catch {
    // The line is in the log.
  }
}

/** A compiler of webpack or Rspack. */
export interface LoggingCompiler {
  readonly options: { readonly infrastructureLogging?: { readonly level?: unknown } }
  getInfrastructureLogger(name: string): { info(text: string): void }
}

/**
 * Returns a function that prints reports in the log of a compiler. A report was asked for, so it is printed even if the config hides the level
 * 'info' of the log, as that of Rsbuild does.
 */
export function infoOf(name: string, compiler: LoggingCompiler): (text: string) => void {
  const logger = compiler.getInfrastructureLogger(name)
  return (text) => {
    const level = compiler.options.infrastructureLogging?.level
    if ([false, 'none', 'error', 'warn'].some((hiding) => hiding === level)) process.stderr.write(`[${name}] ${text}\n`)
    else logger.info(text)
  }
}

/** Whether the plugins of a build had nothing to do, and none is refused. */
export function isWithoutLookup({ hits, misses, reasons = {} }: BuildCounts): boolean {
  return hits + misses === 0 && Object.keys(reasons).length === 0
}

/** The counts of a build as a phrase; `isSaved` as in `ReportedBuild`. */
export function lineOf({ hits, misses, reasons = {}, savedMs = 0 }: BuildCounts, isSaved: boolean): string {
  if (isWithoutLookup({ hits, misses, reasons })) return 'no module of this build was looked up in the cache'
  if (hits + misses === 0) return Object.keys(reasons).join(', ').replaceAll(UNSAFE, '?')
  const parts = [`${numberOf(hits)} of ${numberOf(hits + misses)} modules from cache`]
  if (savedMs >= 1) parts.push(`${durationOf(savedMs)} ${isSaved ? 'saved' : 'of work'}`)
  if (misses > 0) parts.push(`${numberOf(misses)} rebuilt${reasonsOf(reasons)}`)
  return parts.join(', ').replaceAll(UNSAFE, '?')
}

/** What a remote has given, as a phrase. A problem has its own warning. */
export function remoteLineOf({ state, layers, fetchedBytes, waitMs, hits }: RemoteReport): string {
  const parts = [layers === 0 ? 'no layers' : `${hits === 0 ? 'nothing' : 'results'} from ${countOf(layers, 'layer')}`]
  if (fetchedBytes > 0) parts.push(`${megabytesOf(fetchedBytes)} fetched in ${durationOf(waitMs)}`)
  else if (state === 'current') parts.push(`nothing new, ${durationOf(waitMs)} waited`)
  if (state === 'offline') parts.push('not asked')
  if (state === 'fetching') parts.push('the newest are fetched in the background')
  if (state === 'failed') parts.push(`not available, ${durationOf(waitMs)} waited`)
  return parts.join(', ')
}

function countOf(count: number, one: string): string {
  return `${numberOf(count)} ${one}${count === 1 ? '' : 's'}`
}

function megabytesOf(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

function reasonsOf(reasons: Readonly<Record<string, number>>): string {
  const frequent = Object.entries(reasons).sort(([, one], [, other]) => other - one)
  const [first, ...others] = frequent
  if (first === undefined) return ''
  if (others.length === 0) return ` (${phraseOf(first[0])})`
  const named = frequent.slice(0, REASONS_MAX).map(([reason, count]) => `${numberOf(count)} ${phraseOf(reason)}`)
  const rest = frequent.length - named.length
  return ` (${named.join(', ')}${rest > 0 ? `, and ${rest} more reasons` : ''})`
}

function phraseOf(reason: string): string {
  const [, name] = REASON.exec(reason) ?? []
  if (name === undefined) return reasonWords(reason)
  return SENTENCE.test(name) ? name : `${name} changed`
}

function numberOf(count: number): string {
  return count.toLocaleString('en')
}

function durationOf(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

// The counts: the calls of one plugin, with the time that its hits have saved, and the modules of a build.

/** The counts since the last build ended. */
export class Tally {
  #hits = 0
  /** What the hits cost themselves. */
  #answersMs = 0
  #misses = 0
  readonly #uncacheable: Map<string, number> = new Map()
  readonly #reasons: Map<string, number> = new Map()
  /** Time that the hits of each task have saved before this build. */
  readonly #tasks: Map<Task<Uint8Array>, number> = new Map()

  /** `answerMs`: what it cost to answer the call. */
  hit(answerMs: number): void {
    this.#hits += 1
    this.#answersMs += answerMs
  }

  missed(reason: string): void {
    this.#misses += 1
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
  }

  uncacheable(reason: string): void {
    this.#uncacheable.set(reason, (this.#uncacheable.get(reason) ?? 0) + 1)
  }

  /** Called with each task that the calls belong to. */
  noteTask(task: Task<Uint8Array>): void {
    if (!this.#tasks.has(task)) this.#tasks.set(task, task.stats().savedMs)
  }

  /** The counts since the last call of this method. */
  takeStats(): Omit<CachedStats, 'name' | 'reads'> {
    const uncacheable = Object.fromEntries(this.#uncacheable)
    const reasons = Object.fromEntries(this.#reasons)
    const stats = { hits: this.#hits, misses: this.#misses, uncacheable, reasons }
    this.#hits = this.#misses = 0
    this.#uncacheable.clear()
    this.#reasons.clear()
    return stats
  }

  /** The time that hits have saved since the last call of this method; CPU time without that of the hits themselves. */
  takeSavedMs(): number {
    let savedMs = isCpuTime() ? -this.#answersMs : 0
    this.#answersMs = 0
    for (const [task, before] of this.#tasks) {
      const now = task.stats().savedMs
      savedMs += now - before
      this.#tasks.set(task, now)
    }
    return Math.max(0, savedMs)
  }
}

/** What the reasons of calls begin with that cannot be cached. */
export const NOT_STORED = 'not stored: '

/** The modules of one build. */
export class Progress {
  /** For each module the first reason of a miss; undefined if all its results came from the cache. */
  readonly #modules: Map<string, string | undefined> = new Map()
  /** Calls that were not cached, by reason. */
  readonly #uncached: Map<string, number> = new Map()
  /** Why plugins are not cached at all. */
  readonly #refused: Set<string> = new Set()
  #savedMs = 0

  /** Notes a result of a module. `reason` is that of a miss. */
  note(module: string, reason?: string): void {
    this.#modules.set(module, this.#modules.get(module) ?? reason)
  }

  /** Adds calls that were not cached, by reason. */
  uncached(reasons: Readonly<Record<string, number>>): void {
    for (const [reason, count] of Object.entries(reasons))
      this.#uncached.set(reason, (this.#uncached.get(reason) ?? 0) + count)
  }

  /** Notes that nothing of a plugin is cached. */
  refused(why: string): void {
    this.#refused.add(why)
  }

  /** Adds time that the results from the cache took when they were made. */
  saved(ms: number): void {
    this.#savedMs += ms
  }

  /** The counts since the last call of this method. If no call was cached, they are those of the calls, with the reasons. */
  take(): BuildCounts {
    const reasons: Record<string, number> = {}
    let misses = 0
    const add = (reason: string, count: number): void => {
      misses += count
      reasons[reason] = (reasons[reason] ?? 0) + count
    }
    for (const reason of this.#modules.values()) if (reason !== undefined) add(reason, 1)
    const hits = this.#modules.size - misses
    if (this.#modules.size === 0) for (const [reason, count] of this.#uncached) add(`${NOT_STORED}${reason}`, count)
    if (hits + misses === 0) for (const why of this.#refused) reasons[`${REFUSED}${why}`] = 1
    const counts = { hits, misses, reasons, savedMs: this.#savedMs }
    this.#modules.clear()
    this.#uncached.clear()
    this.#refused.clear()
    this.#savedMs = 0
    return counts
  }
}
