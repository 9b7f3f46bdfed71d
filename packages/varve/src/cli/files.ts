/** `varve files`: outputs of tasks that are stored by their content. */
import { Command, Option } from 'commander'
import type { FilesGcReport, FilesLsJson } from '../cli-json.ts'
import type { RestoreMode } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import { Files } from '../files/files.ts'
import type { FilesReport } from '../files/options.ts'
import type { NamespaceStats } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { codecOf } from '../values/codec.ts'
import type { Key } from '../values/bytes.ts'
import {
  entriesOf as filesOf,
  type FileItem,
  type FileManifest,
  isFile,
  isManifest,
  manifestOf,
} from '../values/manifest.ts'
import { command, type CommonOptions } from './command.ts'
import { change, findCache, findReadable, inspect, type OpenFolder, reportEach } from './open/folder.ts'
import { entriesOf, keyJson, namespacesOf, pathOf } from './open/entries.ts'
import { escapeKey, escapeText, EXIT_HELP, NEGATIVE } from './output/escape.ts'
import { counted, size, withCount, withProgress, write, writeJson, writeJsonList, writeLines } from './output/output.ts'

const MARKER = Buffer.from('varve-files')

/** An entry whose value is a manifest. */
export interface Named {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly manifest: FileManifest
}

/** Option of the commands that look for manifests. */
export const V8_OPTION = ['--v8', "also read namespaces with codec 'v8', whose values V8 deserialises"] as const

/**
 * All entries whose value is a manifest; manifests inside a value are not found. Values of codec `v8` are decoded only on
 * request, because V8's deserialiser does not expect untrusted bytes.
 */
export function* manifestsOf(
  session: Session,
  namespaces: readonly NamespaceStats[],
  withV8: boolean,
): Generator<Named> {
  let skipped = 0
  for (const { namespace, key, value } of entriesOf(session, namespaces)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    if (!bytes.includes(MARKER)) continue
    const codec = namespace.version.slice(namespace.version.lastIndexOf(' ') + 1) === codecOf('v8').tag ? 'v8' : 'json'
    if (codec === 'v8' && !withV8) {
      skipped++
      continue
    }
    const manifest = manifestIn(codec, bytes)
    if (manifest !== undefined) yield { namespace, key, manifest }
  }
  if (skipped > 0) {
    process.stderr.write(
      `varve: ${counted(skipped, 'value')} of codec 'v8' may be manifests, too; look at them with --v8\n`,
    )
  }
}

export function totalsOf(manifest: FileManifest): { readonly entries: number; readonly bytes: number } {
  const bytes = manifest.files.filter(isFile).reduce((sum, file) => sum + file.size, 0)
  return { entries: manifest.files.length, bytes }
}

function manifestIn(codec: 'json' | 'v8', bytes: Uint8Array): FileManifest | undefined {
  try {
    const decoded = codecOf(codec).decode(bytes, 0, bytes.length, false)
    return isManifest(decoded) && filesOf('varve files', decoded) === decoded.files ? decoded : undefined
  } catch {
    return undefined // text that happens to have the word in it, bytes of another V8, or a manifest that no call takes
  }
}

interface LsOptions extends CommonOptions {
  readonly namespace?: string
  readonly stored?: boolean
  readonly v8?: boolean
}

export const filesLsCommand: Command = command('ls', 'list manifests: number of files, bytes, namespace and key')
  .option('--namespace <name>', 'only this namespace')
  .option('--stored', 'list the stored files instead: bytes and digest')
  .option(...V8_OPTION)
  .action(list)

async function list(options: LsOptions): Promise<void> {
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    if (options.stored === true) {
      const stored = await new Files(session, true).list()
      if (options.json === true) return writeJson('files ls --stored', { contents: stored })
      return writeLines(
        stored,
        ({ digest, size: bytes }) => `${size(bytes).padStart(10)}  ${digest}`,
        'no stored files',
      )
    }
    const found = manifestsOf(session, await namespacesOf(session, options.namespace), options.v8 === true)
    if (options.json === true) return writeJsonList('manifests', jsonOf(found))
    await writeLines(
      found,
      ({ namespace, key, manifest }) => {
        const { entries, bytes } = totalsOf(manifest)
        const totals = `${counted(entries, 'file').padStart(12)}  ${size(bytes).padStart(10)}`
        return `${totals}  ${escapeText(namespace.name)}  ${escapeKey(key)}`
      },
      'no manifests',
    )
  })
}

function* jsonOf(found: ReturnType<typeof manifestsOf>): Generator<FilesLsJson['manifests'][number]> {
  for (const { namespace, key, manifest } of found) {
    yield {
      namespace: namespace.name,
      version: namespace.version,
      ...keyJson(key),
      ...totalsOf(manifest),
      files: manifest.files,
    }
  }
}

export const filesVerifyCommand: Command = command(
  'verify',
  'read every stored file and report missing and damaged ones; writes nothing',
)
  .option(...V8_OPTION)
  .action(verifyAll)

interface VerifyOptions extends CommonOptions {
  readonly v8?: boolean
}

async function verifyAll(options: VerifyOptions): Promise<void> {
  const found = await reportEach(
    'files verify',
    options,
    (dir) => inspect(dir, (open) => verifyStored(open, options.v8 === true)),
    verdictText,
  )
  if (found.some(({ sound }) => !sound)) process.exitCode = NEGATIVE
}

function verdictText({ sound, files, bytes, lost }: FilesReport): string {
  const verdict = sound ? 'sound' : `${counted(lost.length, 'content')} lost`
  const lines = [`${verdict}: ${counted(files, 'content')}, ${size(bytes)}`, ...lost.map(escapeText)]
  if (!sound) lines.push('Lost contents are misses: their tasks run again.')
  return `${lines.join('\n')}\n`
}

/** Verifies stored contents and those that manifests name, each once. */
async function verifyStored({ session }: OpenFolder, withV8: boolean): Promise<FilesReport> {
  const files = new Files(session, true)
  const all = new Map<string, FileItem>()
  for (const { digest, size: bytes } of await files.list()) all.set(digest, { path: digest, size: bytes, digest })
  for (const { manifest } of manifestsOf(session, await namespacesOf(session, undefined), withV8)) {
    for (const { digest, size: bytes } of manifest.files.filter(isFile))
      all.set(digest, { path: digest, size: bytes, digest })
  }
  return withCount('verify', (watch) => files.verify(manifestOf([...all.values()]), watch))
}

interface RestoreOptions extends CommonOptions {
  readonly namespace?: string
  readonly mode: RestoreMode
  readonly clean?: boolean
  readonly v8?: boolean
}

export const filesRestoreCommand: Command = command('restore', 'write the files of a manifest to a directory')
  .argument('<key>', "the key as 'varve files ls' prints it")
  .argument('<target>', 'the directory, which is created if necessary', pathOf)
  .option('--namespace <name>', 'only this namespace')
  .addOption(
    new Option('--mode <mode>', 'how files are created')
      .choices(['auto', 'reflink', 'hardlink', 'copy'])
      .default('auto'),
  )
  .option('--clean', 'remove everything that the manifest does not have')
  .option(...V8_OPTION)
  .action(restore)

async function restore(given: string, target: string, options: RestoreOptions): Promise<void> {
  const report = await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const files = new Files(session, true)
    const all = manifestsOf(session, await namespacesOf(session, options.namespace), options.v8 === true)
    const found = [...all].filter(({ key }) => escapeKey(key) === given)
    const [first, ...others] = found
    if (others.length > 0) {
      const names = found.map(({ namespace }) => `'${namespace.name}'`).join(', ')
      throw new VarveError(
        'INVALID_ARGUMENT',
        `there are several manifests '${given}'; choose one with --namespace: ${names}`,
      )
    }
    if (first === undefined) return undefined
    const { mode, clean = false } = options
    return withCount('restore', (watch) => files.restore(first.manifest, target, { ...watch, mode, clean }))
  })
  if (report === undefined) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('files restore', { report: report ?? null })
  if (report === undefined) return void process.stderr.write(`varve: no manifest '${escapeText(given)}'\n`)
  const { entries, unchanged, removed } = report
  await write(
    `${counted(entries, 'file')}: ${unchanged} unchanged, ${entries - unchanged} written, ${removed} others removed\n`,
  )
}

export const filesGcCommand: Command = command(
  'gc',
  'remove stored files that no entry names; compacts the cache',
).action(collectAll)

async function collectAll(options: CommonOptions): Promise<void> {
  await reportEach('files gc', options, (dir) => change(dir, collect), freedText)
}

async function collect({ session }: OpenFolder): Promise<FilesGcReport> {
  const before = await totalOf(session)
  await withProgress('gc', (control) => session.run((store) => store.compact(true, control)))
  const after = await totalOf(session)
  return { removed: before.contents - after.contents, bytesFreed: before.bytes - after.bytes, ...after }
}

function freedText({ removed, bytesFreed, contents, bytes }: FilesGcReport): string {
  const kept = `${counted(contents, 'content')} kept, ${size(bytes)}`
  return `${counted(removed, 'content')} removed, ${size(bytesFreed)} freed; ${kept}\n`
}

async function totalOf(session: Session): Promise<Pick<FilesGcReport, 'contents' | 'bytes'>> {
  const stored = await new Files(session, true).list()
  return { contents: stored.length, bytes: stored.reduce((sum, content) => sum + content.size, 0) }
}

export const filesCommand: Command = new Command('files')
  .description('list, verify, restore and remove stored files')
  .addHelpText('after', EXIT_HELP)

for (const each of [filesLsCommand, filesVerifyCommand, filesRestoreCommand, filesGcCommand]) {
  filesCommand.addCommand(each.exitOverride())
}
