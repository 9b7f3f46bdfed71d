/** `varve files gc`: removes contents that no entry names. */
import type { Command } from 'commander'
import { Files } from '../../files/files.ts'
import type { Session } from '../../session.ts'
import { command, type CommonOptions } from '../command.ts'
import { escapeText } from '../escape.ts'
import { findCaches, openFolder } from '../folder.ts'
import { counted, size, write, writeJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import { controlOf } from '../watched.ts'

export const filesGcCommand: Command = command('gc', 'remove contents that no entry names; compacts the cache on the way').action(run)

async function run(options: CommonOptions): Promise<void> {
  const found = []
  for (const dir of findCaches(options.dir)) {
    const { session } = await openFolder(dir, false)
    try {
      const before = await totalOf(session)
      await withProgress('gc', (watch) => session.run((store) => store.compact(true, controlOf(watch))))
      const after = await totalOf(session)
      found.push({ dir, removed: before.contents - after.contents, bytesFreed: before.bytes - after.bytes, ...after })
    } finally {
      await session.close()
    }
  }
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, removed, bytesFreed, contents, bytes } of found) {
    const kept = `${counted(contents, 'content')} kept, ${size(bytes)}`
    await write(`${escapeText(dir)}\n${counted(removed, 'content')} removed, ${size(bytesFreed)} freed; ${kept}\n`)
  }
}

async function totalOf(session: Session): Promise<{ readonly contents: number; readonly bytes: number }> {
  const stored = await new Files(session, true).list()
  return { contents: stored.length, bytes: stored.reduce((sum, content) => sum + content.size, 0) }
}
