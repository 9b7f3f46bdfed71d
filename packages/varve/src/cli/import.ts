/** `varve import`: imports what `varve export` wrote. */
import type { Command } from 'commander'
import { importJson } from '../json/transfer.ts'
import type { CommitReport } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import type { ImportSource } from '../json/streams.ts'
import { command, type CommonOptions } from './command.ts'
import { escapeText } from './output/escape.ts'
import { change, findCache, folderOf } from './open/folder.ts'
import { counted, withProgress, write, writeJson } from './output/output.ts'
import { disk } from '../host/disk.ts'

/** Bytes that are committed between two compactions. Each one rewrites what came before, and nothing reads the cache meanwhile. */
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
  .action(run)

async function run(given: string | undefined, options: ImportCommandOptions): Promise<void> {
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
