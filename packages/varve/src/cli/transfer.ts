/** Caches as files: `varve export` writes entries as JSON, or each cache as a layer; `varve import` reads what it wrote. */
import { type Command, Option } from 'commander'
import { basename, dirname, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { VarveError } from '../errors.ts'
import { intoPlace } from '../files/spool.ts'
import { exportJson, type ExportOptions, importJson } from '../json/transfer.ts'
import type { ExportReport, SealReport } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { command, type CommonOptions } from './command.ts'
import { namespacesOf, pathOf } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { findCache, findReadable, inspect, reportEach, change, folderOf } from './open/folder.ts'
import { cannotWrite, counted, size, withProgress, write, writeJson } from './output/output.ts'
import { disk } from '../host/disk.ts'
import { domainOf, sealIn, untrustedIn } from '../health/domain.ts'
import type { CommitReport } from '../engine/engine.ts'
import type { ImportSource } from '../json/streams.ts'

interface ExportCommandOptions extends CommonOptions {
  readonly format: 'json' | 'ndjson'
  readonly output?: string
  readonly namespace?: string
  readonly keysOnly?: boolean
  readonly layer?: string
  readonly since?: readonly string[]
}

export const exportCommand: Command = command(
  'export',
  'write the entries of a cache as JSON, which import reads, or caches as layers',
)
  .addOption(
    new Option('--format <format>', 'one array, or one object per line').choices(['json', 'ndjson']).default('json'),
  )
  .option('-o, --output <file>', 'write to this file, completely or not at all (default: -, standard output)', pathOf)
  .option('--namespace <name>', 'only this namespace')
  .option('--keys-only', 'write keys and lengths of values, without the values')
  .addOption(
    new Option(
      '--layer <directory>',
      'write each cache as a layer below this directory, for VARVE_LAYERS, instead of JSON',
    )
      .argParser(pathOf)
      .conflicts(['output', 'namespace', 'keysOnly']),
  )
  .option(
    '--since <directory>',
    'with --layer: write only what differs from the layers there; several times, the newest first',
    collect,
  )
  .action(runExport)

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

async function runExport(options: ExportCommandOptions): Promise<void> {
  const { format, output, namespace, keysOnly, layer, since = [] } = options
  if (layer !== undefined) return exportLayers(layer, since, options)
  if (since.length > 0)
    throw new VarveError('INVALID_OPTION', '--since needs --layer: an export as JSON has all entries')
  const wanted: ExportOptions = { format, namespace, keysOnly }
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    if (namespace !== undefined) await namespacesOf(session, namespace)
    if (output === undefined || output === '-') return toStandardOutput(session, wanted)
    const report = await toFile(session, resolve(output), wanted)
    if (options.json === true) return writeJson('export', { file: resolve(output), ...report })
    const what = `${counted(report.entries, 'entry', 'entries')} of ${counted(report.namespaces, 'namespace')}`
    await write(`${escapeText(output)}: ${what}, ${size(report.bytes)}\n`)
  })
}

/** Writes a file completely or not at all. */
async function toFile(session: Session, path: string, wanted: ExportOptions): Promise<ExportReport> {
  try {
    return await intoPlace(path, async (to, creates) => {
      return withProgress('export', async (control) => {
        const file = disk.createWriteStream(to, { flags: creates ? 'wx' : 'w', mode: 0o600 })
        try {
          const report = await exportJson(session, file, wanted, control)
          await finished(file.end())
          return report
        } catch (error) {
          file.destroy()
          throw error
        }
      })
    })
  } catch (error) {
    throw cannotWrite(path, error)
  }
}

async function toStandardOutput(session: Session, wanted: ExportOptions): Promise<void> {
  // A progress bar would mix with the lines of the export; Ctrl-C ends the command as it ends any filter.
  if (process.stdout.isTTY) {
    await exportJson(session, process.stdout, wanted, { signal: undefined, onProgress: undefined })
    return
  }
  await withProgress('export', (control) => exportJson(session, process.stdout, wanted, control))
}

/** Writes the layers into `out`, without what the layers in `since` have, and reports each. */
async function exportLayers(out: string, since: readonly string[], options: CommonOptions): Promise<void> {
  const seal = (dir: string): Promise<SealReport & { readonly layer: string }> => {
    const name = basename(dir)
    const layer = resolve(domainOf(dir) === 'trusted' ? out : untrustedIn(out), name)
    // A base without a layer of this cache was sealed before its tool was used.
    const base = since
      .map((path) => resolve(path, name))
      .filter((path) => disk.existsSync(path) || !disk.existsSync(dirname(path)))
    return inspect(dir, async ({ session, domain }) => {
      const report = await sealIn(domain, layer, () =>
        withProgress('export', (control) => session.run((store) => store.seal(layer, base, control))),
      )
      return { ...report, layer }
    })
  }
  await reportEach('export --layer', options, seal, ({ layer, id, entries, deletes, bytes }) => {
    const what = `${counted(entries, 'entry', 'entries')}, ${counted(deletes, 'delete')}, ${size(bytes)}`
    return `layer ${escapeText(layer)}: ${id}, ${what}\n`
  })
}

/** Bytes that are committed between two compactions. Each one rewrites what came before, and nothing reads the cache until the end. */
const COMPACT_BYTES = 2 * 1024 * 1024 * 1024

/** Bytes of the file that are read at once. */
const READ_BYTES = 256 * 1024

interface ImportCommandOptions extends CommonOptions {
  readonly overwrite?: boolean
}

export const importCommand: Command = command(
  'import',
  'put the entries of an export into a cache; they replace entries with the same keys',
)
  .argument('[file]', 'an export as JSON or NDJSON (default: -, standard input)')
  .option('--overwrite', 'replace namespaces of which the cache has another version, with all their entries')
  .addHelpText(
    'after',
    '\nWith --dir, import creates the cache if there is none. Each commit, of about 16 MiB, is complete or absent.',
  )
  .action(runImport)

async function runImport(given: string | undefined, options: ImportCommandOptions): Promise<void> {
  const { source, bytes } = inputOf(given)
  const dir = targetOf(options.dir)
  await change(dir, async ({ session }) => {
    const compact = (): Promise<unknown> =>
      session.run((store) => store.compact(false, { signal: undefined, onProgress: undefined }))
    let uncompacted = 0
    const committed = async ({ bytes: added, maintenanceDue }: CommitReport): Promise<void> => {
      uncompacted += added
      if (!maintenanceDue || uncompacted < COMPACT_BYTES) return
      uncompacted = 0
      await compact()
    }
    const report = await withProgress('import', async ({ signal, onProgress: show }) => {
      const onProgress = bytes === undefined ? undefined : (done: number): void => show?.(done, bytes)
      const imported = await importJson(
        session,
        source,
        { overwrite: options.overwrite },
        { signal, onProgress },
        committed,
      )
      if (uncompacted > 0) await compact()
      return imported
    })
    if (options.json === true) return writeJson('import', { dir, ...report })
    const what = `${counted(report.entries, 'entry', 'entries')} of ${counted(report.namespaces, 'namespace')}`
    await write(`${escapeText(dir)}: ${what}, ${counted(report.commits, 'commit')}\n`)
  })
}

/** The cache that --dir names; the directory itself if it holds no cache. */
function targetOf(given: string | undefined): string {
  try {
    return findCache(given)
  } catch (error) {
    if (given !== undefined && error instanceof VarveError && error.code === 'NOT_A_CACHE') return folderOf(given)
    throw error
  }
}

function inputOf(given: string | undefined): { readonly source: ImportSource; readonly bytes: number | undefined } {
  if (given === undefined || given === '-') return { source: process.stdin, bytes: undefined }
  try {
    const status = disk.statSync(given)
    if (status.isDirectory())
      throw new VarveError('INVALID_ARGUMENT', `'${given}' is a directory; name the file of an export`)
    // The file is opened when it is read: nothing listens to its failure before.
    const source = {
      [Symbol.asyncIterator]: () => disk.createReadStream(given, { highWaterMark: READ_BYTES })[Symbol.asyncIterator](),
    }
    return { source, bytes: status.isFile() ? status.size : undefined }
  } catch (error) {
    if (error instanceof VarveError) throw error
    const code =
      error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'INVALID_ARGUMENT' : 'PERMISSION'
    throw new VarveError(code, `cannot read '${given}': ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
