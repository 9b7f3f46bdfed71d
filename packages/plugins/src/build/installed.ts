/**
 * What is installed although the lock file does not name it. After a checkout of another branch, the lock file may name versions that are
 * installed only later, so a build in between runs with others than those it names.
 *
 *   lock file        what the package manager writes when it installs     what both name
 *   pnpm-lock.yaml   node_modules/.pnpm/lock.yaml                         each entry, the lines up to an empty one
 *   yarn.lock        node_modules/.yarn-state.yml (Yarn 2 and newer)      "name@npm:1.0.0"
 *   yarn.lock        node_modules/.yarn-integrity (Yarn 1)                the address of an archive
 *   yarn.lock        .pnp.cjs, .pnp.data.json (Plug'n'Play)               "name", "npm:1.0.0"
 *
 * The records of Yarn 2 and newer count as a whole, because they decide which package gets which of several versions that both name. Yarn with
 * `nodeLinker: pnpm` and Bun with `linker = "isolated"` write no record, so the names of their directories count, which have the versions.
 * npm's own record takes the place of its lock file (`identity.ts`), and Bun writes none.
 */
import { basename, dirname, join } from 'node:path'
import { namesOf, textOf } from './files.ts'

interface InstallRecord {
  readonly lock: string
  readonly record: string
  /** The packages in the record, and in the lock file. Groups are joined: name and reference. */
  readonly installed: RegExp
  readonly locked: RegExp
  /** If the whole record counts: what differs in it between two checkouts. */
  readonly leftOut?: RegExp
}

const ENTRY = /^(.*\S.*(?:\n.*\S.*)*)/gm
const RESOLUTION = /^ {2}resolution: "([^"]+)"$/gm

/** A package that another one gets, perhaps by another name: `["name", "npm:1.0.0"]`, `["alias", ["name", "npm:1.0.0"]]`. */
const PLUGGED = /\[\s*(?:"[^"]+",\s*\[\s*)?"([^"]+)",\s*"([^"]+)"\s*\]/g

/** Where the archives are: in a directory of the project or in one of the user. */
const LOCATION = /"packageLocation": "[^"]*"/g

const NOTHING = /(?!)/g

const RECORDS: readonly InstallRecord[] = [
  { lock: 'pnpm-lock.yaml', record: 'node_modules/.pnpm/lock.yaml', installed: ENTRY, locked: ENTRY },
  {
    lock: 'yarn.lock',
    record: 'node_modules/.yarn-state.yml',
    installed: /^"([^"]+)":$/gm,
    locked: RESOLUTION,
    leftOut: NOTHING,
  },
  {
    lock: 'yarn.lock',
    record: 'node_modules/.yarn-integrity',
    installed: /^ {4}"[^"]+": "([^"]+)",?$/gm,
    locked: /^ {2}resolved "([^"]+)"$/gm,
  },
  ...['.pnp.cjs', '.pnp.data.json'].map((record) => ({
    lock: 'yarn.lock',
    record,
    installed: PLUGGED,
    locked: RESOLUTION,
    leftOut: LOCATION,
  })),
]

/** How Yarn names a package that it installs once for each set of peers. */
const VIRTUAL = /@virtual:[^#]+#/

/** The records that may lie beside a lock file. */
export function recordsOf(lockPath: string): string[] {
  return recordsBeside(lockPath).map(({ record }) => join(dirname(lockPath), record))
}

/** What the records name and the lock file does not, in the order of the records. `lock` is the text of the lock file. */
export function unlocked(lockPath: string, lock: string): string[] {
  return recordsBeside(lockPath).flatMap((record) => unlockedIn(record, textIn(record, lockPath), lock))
}

/** What is installed and not in the lock file: whole records, what others name besides, and the names of directories. */
export function installedBeside(lockPath: string, lock: string): string[] {
  const records = recordsBeside(lockPath).flatMap((record) => {
    const text = textIn(record, lockPath)
    return record.leftOut === undefined || text === undefined
      ? unlockedIn(record, text, lock)
      : [text.replaceAll(record.leftOut, '')]
  })
  return [...records, ...['.store', '.bun'].flatMap((name) => namesOf(join(dirname(lockPath), 'node_modules', name)))]
}

function unlockedIn({ installed, locked }: InstallRecord, text: string | undefined, lock: string): string[] {
  if (text === undefined || text === lock) return [] // pnpm writes the same text, of which a large project has a megabyte
  const known = new Set(namesIn(lock, locked))
  return namesIn(text, installed).filter((name) => !known.has(name))
}

function textIn({ record }: InstallRecord, lockPath: string): string | undefined {
  return textOf(join(dirname(lockPath), record), 'latin1')
}

function recordsBeside(lockPath: string): readonly InstallRecord[] {
  return RECORDS.filter(({ lock }) => lock === basename(lockPath))
}

function namesIn(text: string, pattern: RegExp): string[] {
  const nameOf = (name = '', reference?: string): string => (reference === undefined ? name : `${name}@${reference}`)
  return Array.from(text.matchAll(pattern), ([, ...groups]) => nameOf(...groups).replace(VIRTUAL, '@'))
}
