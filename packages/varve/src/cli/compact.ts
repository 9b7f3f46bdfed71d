/** `varve compact`: folds logs and merges tables into the smallest folder. */
import type { Command } from 'commander'
import { command, type CommonOptions } from './command.ts'
import { escapeText } from './escape.ts'
import { findCaches, openFolder } from './folder.ts'
import { counted, size, write, writeJson } from './output.ts'
import { withProgress } from './progress.ts'
import { controlOf } from './watched.ts'

interface CompactCommandOptions extends CommonOptions {
  readonly due?: boolean
}

export const compactCommand: Command = command('compact', 'fold logs and merge tables; builds may go on meanwhile')
  .option('--due', 'only what is due, not everything')
  .action(run)

async function run(options: CompactCommandOptions): Promise<void> {
  const found = []
  for (const dir of findCaches(options.dir)) {
    const { session } = await openFolder(dir, false)
    try {
      const call = (): Promise<object & { changed: boolean; bytesBefore: number; bytesAfter: number; entriesDropped: number }> =>
        withProgress('compact', (watch) => session.run((store) => store.compact(options.due !== true, controlOf(watch))))
      found.push({ dir, ...(await call()) })
    } finally {
      await session.close()
    }
  }
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, changed, bytesBefore, bytesAfter, entriesDropped } of found) {
    const outcome = `${size(bytesBefore)} -> ${size(bytesAfter)}, ${counted(entriesDropped, 'entry', 'entries')} dropped`
    await write(`${escapeText(dir)}\n${changed ? outcome : 'nothing to do'}\n`)
  }
}
