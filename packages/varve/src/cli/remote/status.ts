/** `varve remote status`: what the remote has, from its manifests alone. */
import type { Command } from 'commander'
import { escapeText } from '../output/escape.ts'
import { age, counted, size, write, writeJson } from '../output/output.ts'
import { openRemote, type ReadingOptions, readingCommandOf } from './module.ts'

export const remoteStatusCommand: Command = readingCommandOf(
  'status',
  'list the scopes of the remote with their layers',
).action(run)

async function run({ commit, ...options }: ReadingOptions): Promise<void> {
  const hasKey = (process.env['VARVE_SIGNING_KEY'] ?? '') !== ''
  const { module, remote } = await openRemote(options, hasKey ? 'read-write' : 'read')
  const report = await module.remoteStatus(remote, { commits: commit })
  if (options.json === true) return writeJson('remote status', report)
  const scopes = report.scopes.map(({ scope, generation, commit: by, createdAt, layers }) => {
    const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0)
    const local = `${layers.filter(({ isLocal }) => isLocal).length} here`
    const origin = by === '' ? '' : `, commit ${escapeText(by)}`
    const last = generation === 0 ? 'nothing published' : `generation ${generation}, ${age(createdAt)} ago${origin}`
    const each = layers.map(({ sha256, cache, entries, bytes: ofLayer }) => {
      return `  ${sha256.slice(0, 12)} ${escapeText(cache)}: ${counted(entries, 'entry', 'entries')}, ${size(ofLayer)}\n`
    })
    return `${escapeText(scope)}: ${last}; ${counted(layers.length, 'layer')} (${local}), ${size(bytes)}\n${each.join('')}`
  })
  await write(`${escapeText(report.store)}: ${report.writable ? 'read and written' : 'read only'}\n${scopes.join('')}`)
}
