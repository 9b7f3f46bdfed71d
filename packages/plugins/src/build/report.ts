/**
 * The line at the end of a build, and the same line in the job summary of GitHub Actions:
 *
 *   varve: 1,998 of 2,000 modules from cache, 14.2 s of work, 2 rebuilt (babel.config.js changed)
 *
 * With a remote, it goes on with what the build got from there, and what that took:
 *
 *   ; remote: results from 3 layers, 12.3 MB fetched in 0.8 s
 */
import type { BuildCounts, RemoteReport } from 'varve'
import { disk, environment } from '../host/files.ts'
import { noteOutput, type Field } from 'varve/internal'

/** Which reports a build makes: a line, or a line and a job summary. */
export type ReportOption = boolean | 'summary'

/** The check of an option `report`. */
export const REPORT: Field = ["true, false or 'summary'", (value) => typeof value === 'boolean' || value === 'summary']

/** Reasons that a line names. */
const REASONS_MAX = 3

/** Characters that a terminal or a log interprets. Reasons contain names that were read from the cache. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Surrogate}\p{Zl}\p{Zp}]/gu

const REASON = /^(?:file|env|input|changed) (.+)$/
/** Words that are a sentence already. */
const SENTENCE =
  / (?:->|appeared|changed|is gone|was set|is no longer set|variables are set|is a new dependency|gets other)/
const LIST = /^list (.+)$/

/** Phrases of reasons without a name. */
const PHRASES: ReadonlyMap<string, string> = new Map([
  ['file', 'source changed'],
  ['result', 'result evicted'],
])

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

/** The counts of a build as a phrase; `isSaved` as in `ReportedBuild`. */
export function lineOf({ hits, misses, reasons = {}, savedMs = 0 }: BuildCounts, isSaved: boolean): string {
  if (hits + misses === 0) return 'no module of this build was looked up in the cache'
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
  const [, folder] = LIST.exec(reason) ?? []
  if (folder !== undefined) return `list of ${folder} changed`
  if (name === undefined) return PHRASES.get(reason) ?? reason
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
