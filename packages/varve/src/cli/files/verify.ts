/** `varve files verify`: reads every content that is stored, and tells what manifests lack. Modifies nothing. */
import type { Command } from 'commander'
import { Files } from '../../files/files.ts'
import { type FileItem, isFile, manifestOf } from '../../files/manifest.ts'
import { command, type CommonOptions } from '../command.ts'
import { namespacesOf } from '../entries.ts'
import { escapeText } from '../escape.ts'
import { NEGATIVE } from '../exit.ts'
import { findCaches, inspect, type OpenFolder } from '../folder.ts'
import { counted, size, write, writeJson } from '../output.ts'
import { withCount } from '../progress.ts'
import { manifestsOf } from './manifests.ts'

export const filesVerifyCommand: Command = command('verify', 'read every content and tell what is missing or damaged; modifies nothing').action(run)

async function run(options: CommonOptions): Promise<void> {
  const found = []
  for (const dir of findCaches(options.dir)) found.push({ dir, ...(await inspect(dir, verify)) })
  if (found.some((report) => !report.sound)) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, sound, files, bytes, lost } of found) {
    const verdict = sound ? 'sound' : `${counted(lost.length, 'content')} lost`
    await write(`${escapeText(dir)}\n${verdict}: ${counted(files, 'content')}, ${size(bytes)}\n`)
    for (const digest of lost) await write(`${escapeText(digest)}\n`)
    if (!sound) await write('What is lost is a miss: its task runs again.\n')
  }
}

/** What is stored and what manifests name, each content once. */
async function verify({ session }: OpenFolder): ReturnType<Files['verify']> {
  const files = new Files(session, true)
  const all = new Map<string, FileItem>()
  for (const { digest, size: bytes } of await files.list()) all.set(digest, { path: digest, size: bytes, digest })
  for (const { manifest } of manifestsOf(session, await namespacesOf(session, undefined))) {
    for (const { digest, size: bytes } of manifest.files.filter(isFile)) all.set(digest, { path: digest, size: bytes, digest })
  }
  return withCount('verify', (watch) => files.verify(manifestOf([...all.values()]), watch))
}
