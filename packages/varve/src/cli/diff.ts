/** `varve diff`: the entries in which two caches differ. Reads both once and looks up keys, so memory stays small. */
import type { Command } from 'commander'
import type { ChangeJson as Change, ComparedJson } from '../cli-json.ts'
import type { NamespaceStats } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { command, type CommonOptions } from './command.ts'
import { entriesOf, keyJson, namespacesOf, pathOf, valueOf, wholeNumber } from './open/entries.ts'
import { escapeKey, escapeText } from './output/escape.ts'
import { NEGATIVE } from './output/exit.ts'
import { findCache, inspect } from './open/folder.ts'
import { grouped, write, writeJson } from './output/output.ts'
import { type Look, paint, table } from './output/table.ts'
import type { Key } from '../values/key.ts'

interface DiffOptions extends CommonOptions {
  readonly limit: number
}

/** One entry that differs. */
interface Difference {
  readonly namespace: string
  readonly key: Key
  readonly change: Change
}

/** The same, while it is counted. */
type Compared = ComparedJson & Record<Change | 'equal', number>

const LOOKS: Readonly<Record<Change, Look>> = { onlyLeft: 'red', onlyRight: 'green', changed: 'yellow' }
const MARKS: Readonly<Record<Change, string>> = { onlyLeft: '-', onlyRight: '+', changed: '~' }

export const diffCommand: Command = command('diff', 'list the entries in which two caches differ')
  .argument('<left>', 'a cache directory', pathOf)
  .argument('<right>', 'another cache directory', pathOf)
  .option('--limit <count>', 'maximum number of listed entries; all are counted', wholeNumber, 20)
  .action(run)

async function run(left: string, right: string, options: DiffOptions): Promise<void> {
  await inspect(findCache(left), (leftOpen) =>
    inspect(findCache(right), async (rightOpen) => {
      const found: Difference[] = []
      const namespaces = await compare(leftOpen.session, rightOpen.session, (difference) => {
        if (found.length < options.limit) found.push(difference)
      })
      const isEqual = namespaces.every(({ onlyLeft, onlyRight, changed }) => onlyLeft + onlyRight + changed === 0)
      if (!isEqual) process.exitCode = NEGATIVE
      if (options.json === true) {
        const entries = found.map(({ namespace, key, change }) => ({ namespace, ...keyJson(key), change }))
        return writeJson('diff', { equal: isEqual, namespaces, entries })
      }
      await write(textOf(namespaces, found))
    }),
  )
}

function textOf(namespaces: readonly Compared[], found: readonly Difference[]): string {
  if (namespaces.length === 0) return 'equal: neither cache has entries\n'
  const head = ['namespace', 'equal', 'only left', 'only right', 'changed', 'version']
  const rows = namespaces.map(({ name, leftVersion, rightVersion, equal, onlyLeft, onlyRight, changed }) => {
    const version =
      leftVersion === rightVersion ? (leftVersion ?? '') : `${leftVersion ?? 'none'} | ${rightVersion ?? 'none'}`
    return [escapeText(name), ...[equal, onlyLeft, onlyRight, changed].map(grouped), escapeText(version)]
  })
  const lines = found.map(({ namespace, key, change }) =>
    paint(LOOKS[change], `${MARKS[change]} ${escapeText(namespace)}  ${escapeKey(key)}\n`),
  )
  return `${table(head, rows, head.slice(1, 5))}${lines.join('')}`
}

/** Compares namespace by namespace, by name. Namespaces of different versions share no entries. */
async function compare(
  left: Session,
  right: Session,
  report: (difference: Difference) => void,
): Promise<readonly Compared[]> {
  const [leftAll, rightAll] = [await namespacesOf(left, undefined), await namespacesOf(right, undefined)]
  const names = [...new Set([...leftAll, ...rightAll].map(({ name }) => name))].sort()
  return names.map((name) => {
    const [inLeft, inRight] = [leftAll, rightAll].map((all) => all.find((namespace) => namespace.name === name))
    const versions = { leftVersion: inLeft?.version ?? null, rightVersion: inRight?.version ?? null }
    const compared: Compared = { name, ...versions, equal: 0, onlyLeft: 0, onlyRight: 0, changed: 0 }
    const isShared = inLeft?.version === inRight?.version
    const count = (key: Key, change: Change): void => {
      compared[change] += 1
      report({ namespace: name, key, change })
    }
    if (inLeft !== undefined) compareTo(left, inLeft, isShared ? right : undefined, compared, count)
    if (inRight !== undefined) findMissing(right, inRight, isShared ? left : undefined, count)
    return compared
  })
}

function compareTo(
  left: Session,
  namespace: NamespaceStats,
  right: Session | undefined,
  compared: Compared,
  count: (key: Key, change: Change) => void,
): void {
  for (const { key, value } of entriesOf(left, [namespace])) {
    const other = right === undefined ? undefined : valueOf(right, namespace, key)
    if (other === undefined) count(key, 'onlyLeft')
    else if (Buffer.compare(value, other) !== 0) count(key, 'changed')
    else compared.equal += 1
  }
}

function findMissing(
  right: Session,
  namespace: NamespaceStats,
  left: Session | undefined,
  count: (key: Key, change: Change) => void,
): void {
  for (const { key } of entriesOf(right, [namespace])) {
    if (left === undefined || valueOf(left, namespace, key) === undefined) count(key, 'onlyRight')
  }
}
