/** `varve files gc`: removes contents that no entry names. */
import type { Command } from 'commander'
import type { FilesGcReport } from '../../cli-json.ts'
import { Files } from '../../files/files.ts'
import type { Session } from '../../session/session.ts'
import { command, type CommonOptions } from '../command.ts'
import { reportEach } from '../open/each.ts'
import { change, type OpenFolder } from '../open/folder.ts'
import { counted, size } from '../output/output.ts'
import { withProgress } from '../output/progress.ts'

export const filesGcCommand: Command = command(
  'gc',
  'remove stored files that no entry names; compacts the cache',
).action(run)

async function run(options: CommonOptions): Promise<void> {
  await reportEach('files gc', options, (dir) => change(dir, collect), textOf)
}

async function collect({ session }: OpenFolder): Promise<FilesGcReport> {
  const before = await totalOf(session)
  await withProgress('gc', (control) => session.run((store) => store.compact(true, control)))
  const after = await totalOf(session)
  return { removed: before.contents - after.contents, bytesFreed: before.bytes - after.bytes, ...after }
}

function textOf({ removed, bytesFreed, contents, bytes }: FilesGcReport): string {
  const kept = `${counted(contents, 'content')} kept, ${size(bytes)}`
  return `${counted(removed, 'content')} removed, ${size(bytesFreed)} freed; ${kept}\n`
}

async function totalOf(session: Session): Promise<Pick<FilesGcReport, 'contents' | 'bytes'>> {
  const stored = await new Files(session, true).list()
  return { contents: stored.length, bytes: stored.reduce((sum, content) => sum + content.size, 0) }
}
