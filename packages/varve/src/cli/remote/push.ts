/** `varve remote push`: publishes what the caches have and the remote lacks. */
import type { Command } from 'commander'
import { basename } from 'node:path'
import { domainOf, type TrustDomain } from '../../health/domain.ts'
import { findCaches } from '../open/folder.ts'
import { size, write, writeJson } from '../output/output.ts'
import { withProgress } from '../output/progress.ts'
import { collectCommit, layersText, openRemote, remoteCommandOf, type RemoteCommandOptions } from './module.ts'

interface PushOptions extends RemoteCommandOptions {
  readonly commit?: string
  readonly after?: readonly string[]
}

const AFTER =
  'a commit whose manifest is the base in a store without a head; several times (default: those of Git and CI)'

export const remotePushCommand: Command = remoteCommandOf(
  'push',
  'publish what the caches have and the remote lacks, signed with VARVE_SIGNING_KEY',
)
  .option('--commit <hash>', 'the commit that was built, for a store without a head (default: that of Git or CI)')
  .option('--after <hash>', AFTER, collectCommit)
  .action(run)

const OUTCOMES = {
  published: 'published',
  unchanged: 'the remote has everything',
  exists: 'this commit was published before',
}

/** A trusted scope gets trusted caches; another one those that it has made, or else the trusted ones. One that is named is left to `push`. */
function pushed(found: readonly string[], domain: TrustDomain): readonly string[] {
  if (found.length === 1) return found
  if (domain === 'trusted') return found.filter((dir) => domainOf(dir) === 'trusted')
  const own = found.filter((dir) => domainOf(dir) === 'untrusted')
  const names = new Set(own.map((dir) => basename(dir)))
  return [...own, ...found.filter((dir) => !names.has(basename(dir)))]
}

async function run({ commit, after, ...options }: PushOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const caches = pushed(findCaches(options.dir), remote.domain).map((dir) => ({ name: basename(dir), dir }))
  const call = { caches, commit, commits: after, shared: options.shared }
  const report = await withProgress('push', (control) => module.push(remote, { ...call, ...control }))
  if (options.json === true) return writeJson('remote push', report)
  await write(`${layersText(report.layers)}${OUTCOMES[report.outcome]}, ${size(report.sentBytes)} sent\n`)
}
