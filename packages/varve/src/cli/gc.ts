/** `varve gc`: frees obsolete space: removes a namespace if one is named, applies a size limit, checkpoints and merges. */
import { type Command, InvalidArgumentError } from 'commander'
import { byteSize } from '../checks/size.ts'
import type { EachReports } from '../cli-json.ts'
import type { Session } from '../session/session.ts'
import { writeKey } from '../values/key.ts'
import { command, type CommonOptions } from './command.ts'
import { keysOf, namespacesOf } from './open/entries.ts'
import { change, findCache, findCaches, reportEach } from './open/folder.ts'
import { counted, foreignText, size } from './output/output.ts'
import { withProgress } from './output/progress.ts'

interface GcOptions extends CommonOptions {
  readonly maxBytes?: number
  readonly full?: boolean
  readonly clear?: string
}

type GcReport = EachReports['gc']

export const gcCommand: Command = command(
  'gc',
  'free the space of overwritten, deleted and damaged entries, and evict entries above a limit; builds may run',
)
  .option(
    '--max-bytes <size>',
    "limit of each cache, such as '500MB' or '2GiB'; evicts least recently used entries (default: none)",
    sizeOf,
  )
  .option('--full', 'merge all files of a cache, instead of those that are due')
  .option('--clear <namespace>', 'first remove all entries of this namespace of a cache')
  .action(run)

async function run(options: GcOptions): Promise<void> {
  const find = options.clear === undefined ? findCaches : (given?: string): string[] => [findCache(given)]
  await reportEach('gc', options, (dir) => collect(dir, options), textOf, find)
}

async function collect(dir: string, { clear, full = false, maxBytes }: GcOptions): Promise<GcReport> {
  const work = async (session: Session): Promise<GcReport> => {
    const entriesCleared = clear === undefined ? 0 : await clearNamespace(session, clear)
    const report = await withProgress('gc', (control) => session.run((store) => store.compact(full, control)))
    return { ...report, entriesCleared, bytesFreed: report.bytesBefore - report.bytesAfter }
  }
  return change(dir, ({ session }) => work(session), maxBytes)
}

/** Deletes all entries of a namespace in one commit, and returns their number. */
async function clearNamespace(session: Session, name: string): Promise<number> {
  let entries = 0
  for (const { namespace, key } of keysOf(session, await namespacesOf(session, name))) {
    session.call((store) => {
      const keyBytes = writeKey(session.scratchOf(store), key)
      store.delete(store.namespace(namespace.name, namespace.version), keyBytes)
    })
    entries += 1
  }
  if (entries > 0) await session.run(async (store) => store.commit('relaxed'))
  return entries
}

function textOf(report: GcReport): string {
  const { entriesCleared: cleared } = report
  const clearedText = cleared === 0 ? '' : `${counted(cleared, 'entry', 'entries')} removed\n`
  return clearedText + freedText(report) + foreignText(report.foreignFiles)
}

function freedText({ changed, bytesFreed, bytesBefore, bytesAfter, entriesDropped }: GcReport): string {
  if (!changed) return 'nothing to free\n'
  // A checkpoint writes a table first, so the directory may grow.
  const freed = bytesFreed >= 0 ? `${size(bytesFreed)} freed` : `${size(-bytesFreed)} more`
  return `${freed} (${size(bytesBefore)} -> ${size(bytesAfter)}), ${counted(entriesDropped, 'entry', 'entries')} dropped\n`
}

function sizeOf(text: string): number {
  const bytes = byteSize(text)
  if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= 65_536) return bytes
  throw new InvalidArgumentError(`invalid size '${text}': expected at least 64 KiB, for example '500MB'.`)
}
