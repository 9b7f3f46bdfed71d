/**
 * The usual causes of misses, found in the records of the last builds. A record has the most frequent reasons, such as
 * `changed define.__TIME__ 1 -> 2`.
 *
 *   differs     a value is another one in each build: a time, a random number
 *   turns       two values alternate, and each change replaces all results: NODE_ENV, two versions of a tool
 *   path        an absolute path has changed, as in another checkout
 *   variable    a variable has another value than in the build before
 *   new         each build has other ids than the one before
 *   nothing     the last builds have stored nothing, each for the same reason: `not stored: ..` or `refused: ..`
 */
import { dirname } from 'node:path'
import type { FindingJson } from '../cli-json.ts'
import type { BuildRecord } from '../history/history.ts'
import { REFUSED } from '../history/tally.ts'

/** Builds that are looked at, and builds in a row that show a pattern. */
const BUILDS_MAX = 12
const PATTERN_BUILDS = 3

/** The least part of the results that a cause has to miss. */
const PART_MIN = 0.1

/** The words of a value that changed. Names and values without quotes have no spaces next to each other. */
const CHANGE = /^(.*?) ("(?:[^"\\]|\\.)*"|\S+) -> ("(?:[^"\\]|\\.)*"|\S+)$/
const VARIABLE = /^[A-Z][A-Z0-9_]*$/
const DEFINED = /^define[ .]/
const VERSION = /^\d+\.\d+\.\d+/
const PATH = /^"?(?:\/|[A-Za-z]:\\)/

/** A cause of misses in one build. */
interface Cause {
  readonly name: string
  /** Empty if the record does not have them. */
  readonly before: string
  readonly after: string
}

/** What keeps the builds of one cache from hitting, with advice. The newest build comes first. */
export function diagnose(dir: string, builds: readonly BuildRecord[]): FindingJson[] {
  const findings: FindingJson[] = []
  for (const name of new Set(builds.map((build) => build.name))) {
    const recent = builds.filter((build) => build.name === name).slice(0, BUILDS_MAX)
    const found = storesNothing(recent) ?? causeOfMisses(recent.map(causesOf)) ?? neverFound(recent)
    if (found !== undefined) findings.push({ ...found, what: 'hits', found: `${dir}: ${found.found}` })
  }
  return findings
}

type FindingBody = Omit<FindingJson, 'what'>

/** What a reason begins with if results cannot be stored, or a plugin is not cached at all. */
const NOTHING = /^(?:not stored|refused): /

/** What to do about results that are not stored, by words of the reason. */
const WAYS_OUT: readonly (readonly [words: RegExp, advice: string])[] = [
  [
    /^varve\(\) knows no plugin; not tested/,
    "name the slow ones, as in varve({ plugins: ['<name>'] }); 'npx varve estimate -- <build command>' finds them",
  ],
  [
    /^varve\(\) knows no plugin; with state/,
    "a plugin that makes something of several modules is not cached, so remove varve(); of one that keeps nothing: varve({ plugins: [{ name: '<name>', stateless: true }] })",
  ],
  [/^varve\(\) knows no plugin/, 'there is nothing to cache in this build, so remove varve()'],
  [/^refused/, "if the plugin keeps nothing between its hooks, set 'stateless: true' for it"],
  [
    /network|connect/,
    "results that depend on the network cannot be checked again; if they do not depend on it, name the package in 'trust'",
  ],
  [
    /addon|native|process|worker|thread/,
    "its reads cannot be seen: name the files that it reads in 'files', or its package in 'trust' if it reads none",
  ],
  [/written|writes/, 'files that a plugin writes are not part of its result: let the bundler emit them'],
  [/inputs have changed/, 'start the process again after a change of its configuration'],
]

/** Builds in which no result could be stored. */
function storesNothing(builds: readonly BuildRecord[]): FindingBody | undefined {
  const reasonOf = ({ reasons }: BuildRecord): string | undefined =>
    Object.keys(reasons).find((one) => NOTHING.test(one))
  const isNothing = (build: BuildRecord): boolean => build.hits === 0 && reasonOf(build) !== undefined
  const from = builds.findIndex((build) => !isNothing(build))
  const count = from < 0 ? builds.length : from
  const [newest] = builds
  if (count === 0 || newest === undefined) return undefined
  const found = reasonOf(newest) ?? ''
  const reason = found.startsWith(REFUSED) ? found : found.replace(NOTHING, '')
  const last = count === 1 ? 'the last build' : `each of the last ${count} builds`
  const wayOut = WAYS_OUT.find(([words]) => words.test(reason))?.[1]
  return {
    found: `${last} by ${newest.name} has stored nothing: ${reason}`,
    advice: wayOut ?? `see 'Nothing was stored' in the troubleshooting page of Varve`,
  }
}

function causeOfMisses(builds: readonly (readonly Cause[])[]): FindingBody | undefined {
  for (const cause of builds[0] ?? []) {
    const chain = chainOf(cause.name, builds)
    const found = takesTurns(chain) ?? differsAlways(chain) ?? isPath(cause) ?? isVariable(cause) ?? isOtherRoot(cause)
    if (found !== undefined) return found
  }
  return undefined
}

/** The changes of one name in consecutive builds, the newest first. */
function chainOf(name: string, builds: readonly (readonly Cause[])[]): readonly Cause[] {
  const chain: Cause[] = []
  for (const causes of builds) {
    const cause = causes.find((one) => one.name === name)
    if (cause === undefined) break
    chain.push(cause)
  }
  return chain
}

function takesTurns(chain: readonly Cause[]): FindingBody | undefined {
  const [newest, previous, oldest] = chain
  if (newest === undefined || previous === undefined || oldest === undefined || newest.after === '') return undefined
  const isReversed = (one: Cause, other: Cause): boolean => one.after === other.before && one.before === other.after
  if (!isReversed(newest, previous) || !isReversed(previous, oldest)) return undefined
  const { name, before, after } = newest
  const found = `${name} ${before} and ${name} ${after} take turns, and each build discards the results of the other`
  const one = `set ${name} to one value in all builds that share this cache`
  if (VARIABLE.test(name)) return { found, advice: `${one}, or give each value a cache of its own with option 'dir'` }
  return { found, advice: `use one version of ${name}, or give each version a cache of its own with option 'dir'` }
}

function differsAlways(chain: readonly Cause[]): FindingBody | undefined {
  const [newest] = chain
  if (newest === undefined || chain.length < PATTERN_BUILDS) return undefined
  const { name, before, after } = newest
  const values = chain.map((cause) => cause.after)
  const isShown = after !== '' && new Set(values).size === values.length && !VERSION.test(after)
  const isHidden = after === '' && (DEFINED.test(name) || VARIABLE.test(name))
  if (!isShown && !isHidden) return undefined
  const shown = isShown ? ` (the last time ${before} -> ${after})` : ''
  const way = 'remove the time, random value or commit from it, or set it in release builds only'
  return {
    found: `${name} differs in each of the last ${chain.length} builds${shown}`,
    advice: `results are never found again: ${way}`,
  }
}

function isPath({ name, before, after }: Cause): FindingBody | undefined {
  if (!PATH.test(before) || !PATH.test(after)) return undefined
  const way = 'build in the same directory, or replace the absolute path by one relative to the project'
  return {
    found: `${name} has the absolute path ${after}, and had ${before}`,
    advice: `results are valid for one path only: ${way}`,
  }
}

function isVariable({ name, before, after }: Cause): FindingBody | undefined {
  if (!VARIABLE.test(name)) return undefined
  const shown = after === '' ? 'another value' : `the value ${after} instead of ${before}`
  const note = `builds use results of the same ${name} only; set it to one value in builds that share a cache`
  return { found: `${name} had ${shown} in the last build that stored results`, note }
}

function isOtherRoot({ name }: Cause): FindingBody | undefined {
  if (name !== 'root') return undefined
  return {
    found: 'results name the directory in which they were made, and this build ran in another one',
    advice: 'build in the same directory, or let code and source maps have relative paths',
  }
}

/** Builds that store results under ids that no later build asks for. */
function neverFound(builds: readonly BuildRecord[]): FindingBody | undefined {
  const recent = builds.slice(0, PATTERN_BUILDS)
  const isNew = ({ hits, misses, reasons }: BuildRecord): boolean =>
    hits === 0 && misses > 0 && reasons['new'] === misses
  if (recent.length < PATTERN_BUILDS || !recent.every(isNew)) return undefined
  const way =
    "let ids be the same in each build ('varve ls --task' lists them), and check that 'maxBytes' has room for one build"
  return { found: `the last ${recent.length} builds found nothing of what the build before had stored`, advice: way }
}

/** The causes of at least PART_MIN of the results of a build. */
function causesOf({ hits, misses, reasons }: BuildRecord): readonly Cause[] {
  const frequent = Object.entries(reasons).filter(([, count]) => count >= PART_MIN * (hits + misses))
  return frequent.flatMap(([reason]) => {
    const words = reason.startsWith('changed ')
      ? reason.slice('changed '.length)
      : /^(?:env|input) (.+)$/.exec(reason)?.[1]
    return (words ?? '')
      .split(', ')
      .map((one) => one.replace(/ and \d+ more$/, ''))
      .filter((one) => one !== '')
      .map(causeIn)
  })
}

function causeIn(words: string): Cause {
  const [, name, before = '', after = ''] = CHANGE.exec(words) ?? []
  return { name: name ?? words.replace(/ changed$/, ''), before, after }
}

/**
 * Whether a directory is in the writable layer of a container, which is discarded with the container: the file system of the
 * root is an overlay, and no volume is mounted over the directory. `mounts` is `/proc/self/mountinfo`.
 */
export function isInContainerLayer(dir: string, mounts: string): boolean {
  const kinds = new Map<string, string>()
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const point = before
      .split(' ')[4]
      ?.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    if (point !== undefined) kinds.set(point, after.split(' ')[0] ?? '')
  }
  let at = dir
  while (!kinds.has(at) && dirname(at) !== at) at = dirname(at)
  return at === '/' && kinds.get(at) === 'overlay'
}
