/** `varve remote`: shares caches between machines. `@varve/remote`, which is installed beside varve if it is needed, does the work. */
import { join, basename, delimiter, dirname } from 'node:path'
import { InvalidArgumentError, Command } from 'commander'
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
  FindingJson,
} from '../cli-json.ts'
import type { EngineControl } from '../engine/engine.ts'
import { VarveError } from '../errors.ts'
import { cachesAbove, domainOf, type TrustDomain } from '../health/domain.ts'
import { isOffline } from '../remote/attach.ts'
import type { CacheRemote } from '../remote/remote.ts'
import { installedPackage } from '../host/installed.ts'
import { command, type CommonOptions } from './command.ts'
import { escapeText, EXIT_HELP, NEGATIVE } from './output/escape.ts'
import { folderOf, isCache, findCaches } from './open/folder.ts'
import { counted, size, age, withProgress, write, writeJson } from './output/output.ts'
import { examine } from '../health/place.ts'
import { findingsText } from './output/table.ts'

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
  .action(push)

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

async function push({ commit, after, ...options }: PushOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const caches = pushed(findCaches(options.dir), remote.domain).map((dir) => ({ name: basename(dir), dir }))
  const call = { caches, commit, commits: after, shared: options.shared }
  const report = await withProgress('push', (control) => module.push(remote, { ...call, ...control }))
  if (options.json === true) return writeJson('remote push', report)
  await write(`${layersText(report.layers)}${OUTCOMES[report.outcome]}, ${size(report.sentBytes)} sent\n`)
}

interface PullOptions extends ReadingOptions {
  readonly print?: boolean
}

export const remotePullCommand: Command = readingCommandOf(
  'pull',
  'fetch and verify the layers of the remote, for VARVE_LAYERS',
)
  .option('--print', 'write only the value for VARVE_LAYERS')
  .action(pull)

async function pull({ commit, print, ...options }: PullOptions): Promise<void> {
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

export const remoteDoctorCommand: Command = remoteCommandOf(
  'doctor',
  'check variables, keys, store, clock and access of the remote, and advise what to fix',
).action(doctor)

async function doctor(options: RemoteCommandOptions): Promise<void> {
  const call = openCallOf(options)
  const module = await loadRemote()
  const report = await module.remoteDoctor(process.env, { ...call, offline: isOffline() })
  const findings = [...report.findings, ...directoryFindings(call.dir, options.shared)]
  const ok = findings.every(({ advice }) => advice === undefined)
  if (!ok) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('remote doctor', { ok, findings })
  await write(findingsText(findings))
}

/** Whether layers can be stored on this machine. */
function directoryFindings(dir: string, shared: boolean | undefined): FindingJson[] {
  const { degraded } = examine(dir, '', { shared, readOnly: false })
  if (degraded === undefined) return [{ what: 'layers here', found: dir }]
  return [{ what: 'layers here', found: `${dir}: ${degraded.why}`, advice: degraded.fix }]
}

export const remoteStatusCommand: Command = readingCommandOf(
  'status',
  'list the scopes of the remote with their layers',
).action(status)

async function status({ commit, ...options }: ReadingOptions): Promise<void> {
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

export const remoteVerifyCommand: Command = readingCommandOf(
  'verify',
  'read every object that the manifests of the remote name, and check its digest',
).action(verify)

async function verify({ commit, ...options }: ReadingOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read')
  const report = await withProgress('verify', (control) => module.verifyRemote(remote, { commits: commit, ...control }))
  if (!report.sound) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('remote verify', report)
  const problems = report.problems.map((problem) => `${escapeText(problem)}\n`).join('')
  const what = `${counted(report.layers, 'layer')}, ${counted(report.chunks, 'chunk')}, ${size(report.bytes)}`
  await write(`${problems}${report.sound ? 'sound' : 'damaged'}: ${what}\n`)
}

interface CompactOptions extends RemoteCommandOptions {
  readonly full?: boolean
}

export const remoteCompactCommand: Command = remoteCommandOf(
  'compact',
  'merge layers of the remote; signed with VARVE_SIGNING_KEY',
)
  .option('--full', 'merge all layers of each cache into one, which every reader fetches again')
  .action(compact)

async function compact({ full, ...options }: CompactOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const report = await withProgress('compact', (control) =>
    module.compact(remote, { full, shared: options.shared, ...control }),
  )
  if (options.json === true) return writeJson('remote compact', report)
  if (report.outcome === 'unchanged') return write('nothing to merge\n')
  await write(`${layersText(report.layers)}merged, ${size(report.sentBytes)} sent\n`)
}

interface GcOptions extends RemoteCommandOptions {
  readonly dryRun?: boolean
  readonly grace?: number
}

export const remoteGcCommand: Command = remoteCommandOf(
  'gc',
  'remove objects of the remote that no head names; signed with VARVE_SIGNING_KEY',
)
  .option('--dry-run', 'report what would be removed, and write nothing')
  .option('--grace <hours>', 'keep objects that were written in this time (default: 24)', hours)
  .action(collect)

async function collect({ dryRun, grace, ...options }: GcOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const graceMs = grace === undefined ? undefined : grace * 3_600_000
  const report = await withProgress('gc', (control) => module.gc(remote, { dryRun, graceMs, ...control }))
  if (options.json === true) return writeJson('remote gc', report)
  const removed = `${counted(report.removed, 'object')} of ${report.objects} ${report.dryRun ? 'would be removed' : 'removed'}`
  await write(`${removed}, ${size(report.removedBytes)} of ${size(report.bytes)}\n`)
}

function hours(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value >= 0 && text !== '') return value
  throw new InvalidArgumentError(`invalid time '${text}': expected hours, for example '24'.`)
}

export const remoteRevokeCommand: Command = remoteCommandOf(
  'revoke',
  'take a layer from all readers; signed with VARVE_SIGNING_KEY',
)
  .argument('<layer>', "the digest that 'varve remote status' prints, or a commit whose publication is wrong")
  .action(revoke)

async function revoke(target: string, options: RemoteCommandOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read-write')
  const report = await module.revoke(remote, target)
  if (options.json === true) return writeJson('remote revoke', report)
  await write(`${layersText(report.layers)}${counted(report.layers.length, 'layer')} revoked\n`)
}

export const remoteKeygenCommand: Command = command(
  'keygen',
  'make a signing key for publishers, and its public key for readers',
).action(keygen)

async function keygen(options: CommonOptions): Promise<void> {
  const { keyId, publicKey, signingKey } = (await loadRemote()).generateKeys()
  if (options.json === true) return writeJson('remote keygen', { keyId, publicKey, signingKey })
  await write(`# Key ${keyId}. For everyone who reads; it may be in the repository:\nVARVE_TRUSTED_KEYS=${publicKey}\n`)
  await write(`# For publishers only; store it as a secret of CI:\nVARVE_SIGNING_KEY=${signingKey}\n`)
}

export const remoteCommand: Command = new Command('remote')
  .description('publish, fetch, check, show, verify and clean up what a remote has (VARVE_REMOTE)')
  .addHelpText('after', EXIT_HELP)

const reading = [remoteDoctorCommand, remotePullCommand, remoteStatusCommand, remoteVerifyCommand]
const writing = [remoteCompactCommand, remoteGcCommand, remoteRevokeCommand]
for (const each of [remotePushCommand, ...reading, ...writing, remoteKeygenCommand]) {
  remoteCommand.addCommand(each.exitOverride())
}
