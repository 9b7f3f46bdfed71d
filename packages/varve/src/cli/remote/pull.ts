/** `varve remote pull`: fetches the layers of the remote, for VARVE_LAYERS. */
import type { Command } from 'commander'
import { delimiter, dirname } from 'node:path'
import { escapeText } from '../output/escape.ts'
import { counted, size, write, writeJson } from '../output/output.ts'
import { withProgress } from '../output/progress.ts'
import { openRemote, type ReadingOptions, readingCommandOf } from './module.ts'

interface PullOptions extends ReadingOptions {
  readonly print?: boolean
}

export const remotePullCommand: Command = readingCommandOf(
  'pull',
  'fetch and verify the layers of the remote, for VARVE_LAYERS',
)
  .option('--print', 'write only the value for VARVE_LAYERS')
  .action(run)

async function run({ commit, print, ...options }: PullOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read')
  const report = await withProgress('pull', (control) => module.pull(remote, { commits: commit, ...control }))
  const variable = [...new Set(report.layers.map(({ path }) => dirname(path)))].join(delimiter)
  if (options.json === true) return writeJson('remote pull', { ...report, variable })
  if (print === true) return write(`${variable}\n`)
  const lines = report.layers.map(({ cache, scope, path, entries, bytes }) => {
    return `${escapeText(cache)} of ${escapeText(scope)}: ${counted(entries, 'entry', 'entries')}, ${size(bytes)}, ${escapeText(path)}\n`
  })
  await write(
    `${lines.join('')}${counted(report.fetched, 'layer')} of ${report.layers.length} fetched, ${size(report.fetchedBytes)}\n`,
  )
}
