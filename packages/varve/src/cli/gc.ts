/** `varve gc`: frees what is not needed any more: folds and merges what is due, and keeps a cap where one is given. */
import { type Command, InvalidArgumentError } from 'commander'
import type { CompactReport } from '../reports.ts'
import { byteSize } from '../size.ts'
import { command, type CommonOptions } from './command.ts'
import { escapeText } from './escape.ts'
import { findCaches, openFolder } from './folder.ts'
import { counted, size, write, writeJson } from './output.ts'
import { withProgress } from './progress.ts'
import { controlOf } from './watched.ts'

interface GcOptions extends CommonOptions {
  readonly maxBytes?: number
}

export const gcCommand: Command = command('gc', 'free what was overwritten, deleted or damaged, and what is above a cap')
  .option('--max-bytes <size>', "cap of each cache, as in openCache: '500MB', '2GiB'; least recently used first (default: none)", sizeOf)
  .action(run)

async function run(options: GcOptions): Promise<void> {
  const found = []
  for (const dir of findCaches(options.dir)) {
    const { session } = await openFolder(dir, false, options.maxBytes)
    try {
      const call = (): Promise<CompactReport> =>
        withProgress('gc', (watch) => session.run((store) => store.compact(false, controlOf(watch))))
      const report = await call()
      found.push({ dir, ...report, bytesFreed: report.bytesBefore - report.bytesAfter })
    } finally {
      await session.close()
    }
  }
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, changed, bytesFreed, bytesBefore, bytesAfter, entriesDropped } of found) {
    // Folding a log writes a table first: a folder may be larger for having been tidied.
    const freed = bytesFreed >= 0 ? `${size(bytesFreed)} freed` : `${size(-bytesFreed)} more`
    const outcome = `${freed} (${size(bytesBefore)} -> ${size(bytesAfter)}), ${counted(entriesDropped, 'entry', 'entries')} dropped`
    await write(`${escapeText(dir)}\n${changed ? outcome : 'nothing to free'}\n`)
  }
}

function sizeOf(text: string): number {
  const bytes = byteSize(text)
  if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= 65_536) return bytes
  throw new InvalidArgumentError(`'${text}' is no size of at least 65536 bytes.`)
}
