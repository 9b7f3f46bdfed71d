/** Which plugins of a config `varve()` does not cache by itself, and why: for the warning of a build that caches nothing, and its record. */
import type { CachedOptions } from '../build/options.ts'
import { reportOf } from '../build/report.ts'
import { projectRoot } from '../build/root.ts'
import { Session, type Warn } from '../build/session.ts'
import { type HookedPlugin, HOOKS_DEFAULT, isHook } from '../rollup/hooks.ts'
import { stateOf } from '../rollup/state.ts'

/** Characters of a reason that the record of a build keeps. */
const RECORDED_MAX = 98

/** Names of Vite's own plugins, and `varve()`. */
const OWN = /^(?:varve$|vite:|builtin:|native:|alias$|commonjs$)/

/** Names of the plugins of a config without those of Vite. Those with several parts have one name: `vite-plugin-svelte:compile` and others. */
export interface Survey {
  /** Whether they keep something between their hooks was not tested, and their hooks show nothing. */
  readonly unknown: readonly string[]
  /** Their hooks show that they may keep something of one module for others. */
  readonly stateful: readonly string[]
  /** They neither load nor transform modules. */
  readonly idle: readonly string[]
}

/** Sorts the plugins of a config of which `varve()` knows none. */
export function surveyOf(plugins: readonly HookedPlugin[]): Survey {
  const others = plugins.filter(({ name }) => !OWN.test(name))
  const working = others.filter((plugin) => HOOKS_DEFAULT.some((hook) => isHook(plugin, hook)))
  const namesOf = (some: readonly HookedPlugin[], but: readonly string[] = []): string[] =>
    [...new Set(some.map(({ name }) => familyOf(name)))].filter((name) => !but.includes(name))
  const stateful = namesOf(working.filter((plugin) => stateOf(plugin, plugins) !== undefined))
  const unknown = namesOf(working, stateful)
  return { unknown, stateful, idle: namesOf(others, [...stateful, ...unknown]) }
}

function familyOf(name: string): string {
  return /^[^:]+/.exec(name)?.[0] ?? name
}

/** A survey as a phrase, short enough for the record of a build if names are. `varve doctor` knows its words. */
export function phraseOf(survey: Survey): string {
  const phrases = [3, 2, 1].map((namedMax) => phraseWith(survey, namedMax))
  return phrases.find(({ length }) => length <= RECORDED_MAX) ?? phrases.at(-1) ?? ''
}

function phraseWith({ unknown, stateful, idle }: Survey, namedMax: number): string {
  const parts = [
    ...(unknown.length > 0 ? [`not tested: ${listOf(unknown, namedMax)}`] : []),
    ...(stateful.length > 0 ? [`with state: ${listOf(stateful, namedMax)}`] : []),
    ...(idle.length > 0 ? [`without work on modules: ${listOf(idle, namedMax)}`] : []),
  ]
  return `varve() knows no plugin; ${parts.length === 0 ? "all are Vite's own" : parts.join('; ')}`
}

/** What a build that caches nothing warns of. */
export function adviceOf(survey: Survey): string {
  const [unknown] = survey.unknown
  const advice = unknown === undefined ? 'Remove varve()' : `Name the slow ones: varve({ plugins: ['${unknown}'] })`
  return `nothing is cached, because ${phraseOf(survey)}. ${advice}`
}

function listOf(names: readonly string[], namedMax: number): string {
  const rest = names.length - namedMax
  const named = names.slice(0, namedMax).map((name) => `'${name}'`)
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** A build that caches nothing. */
export interface UncachedBuild {
  readonly options: CachedOptions
  readonly root: string
  readonly modules: number
  readonly reason: string
  readonly warn: Warn
  readonly info: Warn
}

/** Leaves the record of a build that caches nothing, which `varve doctor` explains. */
export async function recordUncached({ options, root, modules, reason, warn, info }: UncachedBuild): Promise<void> {
  const session = await Session.acquire('vite', options, projectRoot(options.root ?? root), warn)
  session.beginBuild(reportOf(options.report), info)
  session.progress.uncached({ [reason]: modules })
  session.endBuild()
  await session.release()
}
