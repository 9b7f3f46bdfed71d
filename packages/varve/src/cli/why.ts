/**
 * `varve why <id>`: the stored variants of an id, the dependencies that changed, and how the two newest variants differ.
 * Files and environment are compared with the present ones. Only the build knows its inputs, so variants are compared, and what it sets of the
 * environment.
 */
import type { Command } from 'commander'
import * as paths from 'node:path'
import type { DependencyJson, RecordJson, VariantJson } from '../cli-json.ts'
import { UNDEFINED_DIGEST, shownOf } from '../inputs/digest.ts'
import { type Difference, differencesAround, differencesBetween, READS_NOT_STORED, sentenceOf } from '../task/why.ts'
import { type Digests, reasonIn, type Variant } from '../task/record.ts'
import { Comparison } from '../inputs/set.ts'
import { projectDirectory } from '../health/directory.ts'
import { Root } from '../inputs/root.ts'
import type { Session } from '../session/session.ts'
import { RECORDS_PREFIX } from '../host/format.ts'
import { command, type CommonOptions } from './command.ts'
import { type Described, describedIn, pathOf } from './open/entries.ts'
import { escapeKey, escapeText, NEGATIVE } from './output/escape.ts'
import { findCache, findReadable, inspect } from './open/folder.ts'
import {
  candidateRoots,
  rootsOf,
  type IdRecord,
  keysOf,
  readChangesOf,
  recordOf,
  recordsOf,
  resultsOf,
  tasksOf,
} from './open/tasks.ts'
import { parseKey } from './ls.ts'
import { age, counted, write, writeJson } from './output/output.ts'
import { table } from './output/table.ts'
import { disk } from '../host/disk.ts'

interface WhyOptions extends CommonOptions {
  readonly task?: string
  readonly root?: string
  readonly raw?: boolean
}

export const whyCommand: Command = command(
  'why',
  'explain hits and misses: compare stored results of an id with the present, and with one another',
)
  .argument('<id>', "the id as 'varve ls --task' prints it, or the path of a file")
  .option('--task <name>', 'only this task')
  .option('--root <directory>', 'root of the task (default: the directory above that has its files)', pathOf)
  .option('--raw', 'print tasks and ids as they are stored')
  .action(run)

async function run(given: string, options: WhyOptions): Promise<void> {
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const isWindowsPath = paths.sep === '\\' && paths.isAbsolute(given) // no backslash of it begins an escape
    const id = isWindowsPath ? given : String(parseKey(given))
    const file = fileOf(id)
    const roots = candidateRoots(options.root, file)
    // Lists show the id of a virtual module without the byte that it begins with.
    const keysIn = (root: Root): readonly string[] =>
      [id, `\0${id}`, ...(file === undefined ? [] : [paths.resolve(id)])].flatMap((one) => keysOf(one, root, roots))
    const keys = [...new Set(roots.flatMap(keysIn))]
    const tasks = await tasksOf(session, options.task)
    const found = tasks
      .flatMap((task) => keys.map((key) => recordOf(session, task, key)))
      .filter((record) => record.variants.length > 0 && rootsOf(record, roots).flatMap(keysIn).includes(record.id))
    if (found.length === 0) {
      process.exitCode = NEGATIVE
      if (options.json === true) return writeJson('why', { records: [] })
      process.stderr.write(
        `varve: nothing is stored for id '${escapeKey(keys[0] ?? id)}'${nearIds(recordsOf(session, tasks), keys[0] ?? id)}\n`,
      )
      return
    }
    const records = await explain(session, found, roots)
    if (options.json === true) return writeJson('why', { records })
    const described = await describedIn(session, options.raw)
    for (const one of records) await write(textOf(one, headOf(one, described)))
  })
}

/** The file that an id names from the working directory, without the query of a bundler; undefined if there is none. */
function fileOf(id: string): string | undefined {
  const path = paths.resolve(id.replace(/[?#].*$/, ''))
  return id !== '' && disk.existsSync(path) ? path : undefined
}

/** The variants of these ids, compared with the present and with one another; `roots`: those that their tasks may have. */
export async function explain(
  session: Session,
  found: readonly IdRecord[],
  roots: readonly Root[],
): Promise<RecordJson[]> {
  const changesBelow = new Map<Root, VariantSources['readChanges']>()
  const changesIn = (root: Root): VariantSources['readChanges'] => changesBelow.get(root) ?? (() => undefined)
  const rootsByReads = new Map<string, Root | undefined>()
  const results = new Map<string, VariantSources['placeOfResult']>()
  const records: RecordJson[] = []
  for (const record of found) {
    const possible = rootsOf(record, roots)
    for (const root of possible)
      if (!changesBelow.has(root)) changesBelow.set(root, await readChangesOf(session, { fs: disk, paths }, root))
    const { reads = '' } = record.variants[0] ?? {}
    const key = JSON.stringify([reads, possible.map(({ folder }) => folder)])
    if (!rootsByReads.has(key))
      rootsByReads.set(
        key,
        leastChanged(possible, (root) => changesIn(root)(reads)),
      )
    const root = rootsByReads.get(key) ?? new Root(projectDirectory(), paths)
    const placeOfResult = results.get(record.task) ?? (await resultsOf(session, record.task))
    results.set(record.task, placeOfResult)
    records.push(describe(record, root, { placeOfResult, readChanges: changesIn(root) }))
  }
  return records
}

/** The root in which the least of what a task has read has changed; of several, the first. A file that is missing is the best sign of another root. */
function leastChanged(
  roots: readonly Root[],
  changesIn: (root: Root) => readonly Difference[] | undefined,
): Root | undefined {
  let best: Root | undefined
  let least = Number.POSITIVE_INFINITY
  for (const root of roots) {
    const count = (changesIn(root) ?? []).reduce((sum, { after }) => sum + (after === 'missing' ? 2 : 1), 0)
    if (count < least) best = root
    least = Math.min(least, count)
    if (least === 0) break
  }
  return best
}

/** What is known of variants besides their records. */
interface VariantSources {
  readonly placeOfResult: (id: string, variant: Variant) => string | undefined
  readonly readChanges: (generation: string) => readonly Difference[] | undefined
}

function describe(
  { task, id, variants }: IdRecord,
  root: Root,
  { placeOfResult, readChanges }: VariantSources,
): RecordJson {
  const present = new Comparison({ fs: disk, paths }, root)
  const byTime = variants.toSorted((a, b) => b.timeMs - a.timeMs)
  const [last, previous] = byTime
  const between = last === undefined || previous === undefined ? [] : differencesBetween(previous, last)
  const differencesOf = (variant: Variant): readonly Difference[] => [
    ...differencesAround(variant, present, { env: [], files: [] }),
    ...readDifferences(variant, readChanges),
  ]
  return {
    task,
    id,
    variants: byTime.map((variant) => tellVariant(variant, differencesOf(variant), placeOfResult(id, variant))),
    between,
  }
}

/**
 * Whether only the build knows a variable: it is not set here, as NODE_ENV, which bundlers set themselves. Which other variables are set
 * differs in each process.
 */
function isOfBuild({ kind, name }: Difference): boolean {
  return kind === 'env' && (name.endsWith('*') || process.env[name] === undefined)
}

/** What the work of a variant read and finds no longer. */
function readDifferences({ reads }: Variant, changes: VariantSources['readChanges']): readonly Difference[] {
  return reads === undefined ? [] : (changes(reads) ?? [READS_NOT_STORED])
}

function tellVariant(variant: Variant, all: readonly Difference[], place: string | undefined): VariantJson {
  const differences = all.filter((one) => !isOfBuild(one))
  const assumed = all.filter(isOfBuild).map(({ name, before }) => ({ name, digest: before ?? UNDEFINED_DIGEST }))
  const isLost = place === undefined
  const files = variant.files.map(([name, digest]) => ({ name, digest }))
  const depends = { inputs: dependencies([...variant.inputs, ...variant.added]), env: dependencies(variant.env), files }
  const why = reasonIn(variant)
  const holds = differences.length === 0 && !isLost
  return {
    timeMs: variant.timeMs,
    holds,
    isLost,
    layer: place || null,
    ...(why === undefined ? {} : { why }),
    differences,
    assumed,
    ...depends,
  }
}

/** Names and digests in turn. */
function dependencies(digests: Digests): DependencyJson[] {
  return digests.flatMap((name, index) => (index % 2 === 0 ? [{ name, digest: digests[index + 1] ?? '' }] : []))
}

/** What the results are: a task and an id, or a tool and a module. */
function headOf({ task, id }: RecordJson, described: Described): string {
  const namespace = `${RECORDS_PREFIX}${task}`
  const description = described.of(namespace)
  if (description === undefined) return `task ${escapeText(task)}, id ${escapeKey(id)}`
  const { kind, path } = described.subjectOf(namespace, id) ?? { kind: 'id', path: id }
  return `${escapeText(description.title)}, ${kind} ${escapeKey(path)}`
}

function textOf({ variants, between }: RecordJson, what: string): string {
  const [last] = variants
  const why =
    last?.why === undefined ? '' : `last miss, ${age(last.timeMs)} ago: ${escapeText(last.why.replaceAll('\0', ''))}\n`
  const head = `${what}: ${counted(variants.length, 'variant')}\n${why}`
  const from = ({ layer }: VariantJson): string => (layer === null ? '' : `, from the layer ${escapeText(layer)}`)
  const lines = variants.map(
    (variant) => `${age(variant.timeMs)} old${from(variant)}: ${verdictOf(variant)}\n${tableOf(variant.differences)}`,
  )
  const pair = between.length === 0 ? '' : `the two newest differ in:\n${tableOf(between)}`
  return `${head}${lines.join('')}${pair}`
}

function verdictOf({ holds, isLost, inputs, assumed, differences }: VariantJson): string {
  const names = [...inputs.map(({ name }) => name), ...assumed.map(({ name, digest }) => assumption(name, digest))]
  if (holds) return `a hit, if its inputs are the same${names.length === 0 ? '' : ` (${escapeText(names.join(', '))})`}`
  return isLost ? 'a miss: its result is gone' : `a miss: ${escapeText(differences.map(sentenceOf).join(', '))}`
}

/** A variable that the build sets, and to what. */
function assumption(name: string, digest: string): string {
  if (name.endsWith('*')) return name === '*' ? 'which variables are set' : `which variables ${name} are set`
  return [name, shownOf(digest)].filter((part) => part !== undefined).join(' ')
}

function tableOf(differences: readonly Difference[]): string {
  if (differences.length === 0) return ''
  const rows = differences.map(({ kind, name, before, after }) => [
    kind,
    escapeText(name),
    cellOf(before),
    cellOf(after),
  ])
  return table(['what', 'name', 'before', 'after'], rows)
}

/** A digest, or the value that it shows. */
function cellOf(digest: string | undefined): string {
  return escapeText(shownOf(digest) ?? digest ?? '-')
}

/** Some ids that contain the given text, in case it is part of one. */
function nearIds(records: Iterable<IdRecord>, given: string): string {
  const found: string[] = []
  for (const { id } of records) {
    if (found.length < 5 && id.includes(given)) found.push(id)
  }
  return found.length === 0
    ? "; 'varve ls --task' lists them"
    : `; ids that contain it:\n${found.map((id) => `  ${escapeKey(id)}`).join('\n')}`
}
