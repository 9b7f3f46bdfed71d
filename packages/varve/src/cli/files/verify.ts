/** `varve files verify`: reads every stored content and reports those that manifests miss. Modifies nothing. */
import type { Command } from 'commander'
import { Files } from '../../files/files.ts'
import { type FileItem, isFile, manifestOf } from '../../values/manifest.ts'
import type { FilesReport } from '../../files/options.ts'
import { command, type CommonOptions } from '../command.ts'
import { reportEach } from '../open/each.ts'
import { namespacesOf } from '../open/entries.ts'
import { escapeText } from '../output/escape.ts'
import { NEGATIVE } from '../output/exit.ts'
import { inspect, type OpenFolder } from '../open/folder.ts'
import { counted, size } from '../output/output.ts'
import { withCount } from '../output/progress.ts'
import { manifestsOf, V8_OPTION } from './manifests.ts'

export const filesVerifyCommand: Command = command(
  'verify',
  'read every stored file and report missing and damaged ones; writes nothing',
)
  .option(...V8_OPTION)
  .action(run)

interface VerifyOptions extends CommonOptions {
  readonly v8?: boolean
}

async function run(options: VerifyOptions): Promise<void> {
  const found = await reportEach(
    'files verify',
    options,
    (dir) => inspect(dir, (open) => verify(open, options.v8 === true)),
    textOf,
  )
  if (found.some(({ sound }) => !sound)) process.exitCode = NEGATIVE
}

function textOf({ sound, files, bytes, lost }: FilesReport): string {
  const verdict = sound ? 'sound' : `${counted(lost.length, 'content')} lost`
  const lines = [`${verdict}: ${counted(files, 'content')}, ${size(bytes)}`, ...lost.map(escapeText)]
  if (!sound) lines.push('Lost contents are misses: their tasks run again.')
  return `${lines.join('\n')}\n`
}

/** Verifies stored contents and those that manifests name, each once. */
async function verify({ session }: OpenFolder, withV8: boolean): Promise<FilesReport> {
  const files = new Files(session, true)
  const all = new Map<string, FileItem>()
  for (const { digest, size: bytes } of await files.list()) all.set(digest, { path: digest, size: bytes, digest })
  for (const { manifest } of manifestsOf(session, await namespacesOf(session, undefined), withV8)) {
    for (const { digest, size: bytes } of manifest.files.filter(isFile))
      all.set(digest, { path: digest, size: bytes, digest })
  }
  return withCount('verify', (watch) => files.verify(manifestOf([...all.values()]), watch))
}
