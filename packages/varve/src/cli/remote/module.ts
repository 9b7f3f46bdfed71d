/**
 * What the command uses of `@varve/remote`, which is installed beside varve if it is needed. The tests of the remote assign the package
 * to this interface, so the compiler compares both.
 */
import { join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type {
  DoctorJson,
  RemoteGcJson,
  RemoteKeygenJson,
  RemoteLayerJson,
  RemotePullJson,
  RemotePushJson,
  RemoteRevokeJson,
  RemoteStatusJson,
  RemoteVerifyJson,
} from '../../cli-json.ts'
import type { EngineControl } from '../../engine/engine.ts'
import { VarveError } from '../../errors.ts'
import { cachesAbove } from '../../health/domain.ts'
import { isOffline } from '../../remote/attach.ts'
import type { CacheRemote } from '../../remote/remote.ts'
import { installedPackage } from '../../host/installed.ts'
import { command, type CommonOptions } from '../command.ts'
import { escapeText } from '../output/escape.ts'
import { folderOf, isCache } from '../open/folder.ts'
import { counted, size } from '../output/output.ts'
import type { Command } from 'commander'

/** A report without the field that all output has. */
type Report<Json> = Omit<Json, 'format'>

interface Commits {
  readonly commits?: readonly string[] | undefined
}

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

interface OpenCall {
  readonly dir: string
  readonly mode?: 'read' | 'read-write' | undefined
  readonly budgetMs?: number | undefined
}

/** `Remote` is opaque here: the command passes it on. */
export interface RemoteModule<Remote> {
  remoteFromEnvironment(environment: EnvironmentVariables, options: OpenCall): Remote | undefined
  push(remote: Remote, options: PushCall & EngineControl): Promise<Report<RemotePushJson>>
  pull(remote: Remote, options: Commits & EngineControl): Promise<Report<Omit<RemotePullJson, 'variable'>>>
  remoteStatus(remote: Remote, options: Commits): Promise<Report<RemoteStatusJson>>
  verifyRemote(remote: Remote, options: Commits & EngineControl): Promise<Report<RemoteVerifyJson>>
  compact(remote: Remote, options: CompactCall & EngineControl): Promise<Report<RemotePushJson>>
  gc(remote: Remote, options: GcCall & EngineControl): Promise<Report<RemoteGcJson>>
  revoke(remote: Remote, target: string): Promise<Report<RemoteRevokeJson>>
  remoteDoctor(
    environment: EnvironmentVariables,
    options: OpenCall & { readonly offline: boolean },
  ): Promise<Report<DoctorJson>>
  generateKeys(): Report<RemoteKeygenJson>
}

interface PushCall extends Commits {
  readonly caches: readonly { readonly name: string; readonly dir: string }[]
  readonly commit?: string | undefined
  readonly shared?: boolean | undefined
}

interface CompactCall {
  readonly full?: boolean | undefined
  readonly shared?: boolean | undefined
}

interface GcCall {
  readonly dryRun?: boolean | undefined
  readonly graceMs?: number | undefined
}

/** Options of the commands that use the remote. */
export interface RemoteCommandOptions extends CommonOptions {
  readonly timeout?: number
}

export interface ReadingOptions extends RemoteCommandOptions {
  readonly commit?: readonly string[]
}

export interface OpenRemote {
  readonly module: RemoteModule<WithDomain>
  readonly remote: WithDomain
}

/** What the command sees of a remote. */
export type WithDomain = Pick<CacheRemote, 'domain'>

/** A command of the remote, with the options that all of them have. */
export function remoteCommandOf(name: string, description: string): Command {
  return command(name, description).option(
    '--timeout <seconds>',
    'the time that the command may take (default: 120)',
    seconds,
  )
}

export function readingCommandOf(name: string, description: string): Command {
  const use = 'a commit whose manifest is used if a scope has no head; several times, the newest first'
  const preset = '(default in a store without a head: those of Git and CI)'
  return remoteCommandOf(name, description).option('--commit <hash>', `${use} ${preset}`, collectCommit)
}

/** The directory of layers, in that of the caches, and the budget. */
export function openCallOf({ dir, timeout }: RemoteCommandOptions): OpenCall {
  const folder = folderOf(dir)
  const caches = cachesAbove(isCache(folder) ? folder : join(folder, 'any'))
  return { dir: join(caches, '.remote'), budgetMs: timeout === undefined ? undefined : timeout * 1000 }
}

/** The remote of the environment. */
export async function openRemote(options: RemoteCommandOptions, mode: 'read' | 'read-write'): Promise<OpenRemote> {
  if (isOffline()) throw new VarveError('INVALID_OPTION', 'VARVE_OFFLINE forbids connections to the remote; unset it')
  const module = await loadRemote()
  const remote = module.remoteFromEnvironment(process.env, { ...openCallOf(options), mode })
  if (remote !== undefined) return { module, remote }
  const examples = "an address, for example 's3://bucket/prefix', 'rediss://host' or 'file:///path'"
  throw new VarveError('INVALID_OPTION', `there is no remote: set VARVE_REMOTE to ${examples}`)
}

/** The package. Throws INVALID_OPTION if it is missing. */
export async function loadRemote(): Promise<RemoteModule<WithDomain>> {
  const loaded: RemoteModule<WithDomain> = await import(installedPackage('@varve/remote'))
  return loaded
}

/** A line for each layer of a remote. */
export function layersText(layers: readonly RemoteLayerJson[]): string {
  const lines = layers.map(({ cache, entries, deletes, bytes }) => {
    return `${escapeText(cache)}: ${counted(entries, 'entry', 'entries')}, ${counted(deletes, 'delete')}, ${size(bytes)}\n`
  })
  return lines.join('')
}

/** Adds a commit to those that an option has collected. */
export function collectCommit(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

function seconds(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0 && value <= 86_400) return value
  throw new InvalidArgumentError(`invalid time '${text}': expected seconds, for example '30'.`)
}
