/** `varve doctor`: which engine runs here and why, whether caches can be used here, what to fix. */
import type { Command } from 'commander'
import { dirname, join } from 'node:path'
import type { FindingJson } from '../cli-json.ts'
import { examine, unsynced } from '../health/place.ts'
import { loadEngine } from '../engine/load.ts'
import { toVarveError } from '../errors.ts'
import { readHistory } from '../history/history.ts'
import { secretOf } from '../health/secret.ts'
import { command, type CommonOptions } from './command.ts'
import { diagnose, isInContainerLayer } from './diagnosis.ts'
import { findingsText } from './output/table.ts'
import { FORMAT_FOLDER } from '../host/format.ts'
import { findCaches, folderOf, inspect, trustsShared } from './open/folder.ts'
import { size, write, writeJson } from './output/output.ts'
import { NEGATIVE } from './output/escape.ts'
import { disk } from '../host/disk.ts'

/** File systems that are on another machine, by the number that Linux gives them. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB 2'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0xc36400, 'Ceph'],
])

const UNTRUSTED = '; of untrusted scopes, so no trusted scope publishes it'

export const doctorCommand: Command = command(
  'doctor',
  'check the engine, the directory and the cache, and advise what to fix',
).action(run)

async function run(options: CommonOptions): Promise<void> {
  const findings = await findingsOf(options.dir)
  const ok = findings.every((finding) => finding.advice === undefined)
  if (!ok) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('doctor', { ok, findings })
  await write(findingsText(findings))
}

/** Everything that `varve doctor` checks; `given` is `--dir`. */
export async function findingsOf(given: string | undefined): Promise<FindingJson[]> {
  const folder = folderOf(given)
  const name = await formatFolder()
  return [
    ...(await engineFindings()),
    ...secretFindings(),
    ...folderFindings(folder, name),
    ...(await cacheFindings(given, name)),
  ]
}

/** Name of the format's directory in a cache; it depends on the secret. */
async function formatFolder(): Promise<string> {
  try {
    const { engine } = await loadEngine({ engine: 'auto' })
    return engine.folderName(secretOf().bytes)
  } catch {
    return FORMAT_FOLDER // other findings report an engine or a secret that cannot be used
  }
}

async function engineFindings(): Promise<FindingJson[]> {
  const node = { what: 'node', found: `${process.version} on ${process.platform}-${process.arch}` }
  try {
    const { engine, reason } = await loadEngine({ engine: 'auto' })
    // Both engines give the same results, so the slower one must not fail a script.
    const isChosen = engine.name === 'native' || process.env['VARVE_ENGINE'] === 'wasm'
    const note =
      'WebAssembly reads and writes the same cache; with the addon of this platform, lookups and commits take less time'
    const sync = engine.name === 'wasm' ? unsynced() : undefined
    const syncing = sync === undefined ? [] : [{ what: 'sync', found: sync.why, note: sync.fix }]
    return [node, { what: 'engine', found: reason, ...(isChosen ? {} : { note }) }, ...syncing]
  } catch (error) {
    return [node, { what: 'engine', found: 'none', advice: toVarveError(error).message }]
  }
}

function secretFindings(): FindingJson[] {
  try {
    const { warning, found = 'empty' } = secretOf()
    return warning === undefined ? [] : [{ what: 'secret', found, advice: warning.message }]
  } catch (error) {
    return [{ what: 'secret', found: 'not usable', advice: toVarveError(error).message }]
  }
}

function folderFindings(folder: string, name: string): FindingJson[] {
  const existing = nearest(folder)
  const findings: FindingJson[] = [
    { what: 'directory', found: existing === folder ? folder : `${folder} (not there yet)` },
    useFinding(folder, name),
  ]
  try {
    const { bavail, bsize, type } = disk.statfsSync(existing)
    const network = NETWORKS.get(type)
    const slow =
      'every build waits for the network, and Varve cannot detect crashes of other machines; use a directory on a local disk'
    findings.push({
      what: 'file system',
      found: network ?? 'local',
      ...(network === undefined ? {} : { advice: slow }),
    })
    const free = bavail * bsize
    const advice = 'less than the default limit of 1 GiB; set maxBytes or free some space'
    findings.push({ what: 'free space', found: size(free), ...(free < 1024 ** 3 ? { advice } : {}) })
  } catch (error) {
    findings.push({
      what: 'file system',
      found: 'unknown',
      advice: error instanceof Error ? error.message : String(error),
    })
  }
  return findings
}

/** Whether builds can use the directory, or why not and how to fix it. */
function useFinding(folder: string, name: string): FindingJson {
  const { degraded } = examine(folder, name, { shared: trustsShared() })
  if (degraded === undefined) return { what: 'usable', found: 'yes' }
  const what =
    degraded.mode === 'memory'
      ? 'builds keep their cache in memory'
      : 'builds read the cache and keep new entries in memory'
  return { what: 'usable', found: degraded.why, advice: `${what}; ${degraded.fix}` }
}

async function cacheFindings(given: string | undefined, name: string): Promise<FindingJson[]> {
  const folder = folderOf(given)
  const caches = safeCaches(given)
  if (caches.length === 0)
    return [{ what: 'caches', found: `none in ${folder}; the first commit creates one` }, ...layerFindings(folder)]
  const findings: FindingJson[] = []
  let isKept = false
  for (const dir of caches) {
    const use = useFinding(dir, name)
    if (use.advice !== undefined && dir !== folder) findings.push({ ...use, what: 'cache' })
    if (examine(dir, name, { shared: trustsShared() }).degraded?.mode === 'memory') continue // not read at all
    try {
      findings.push(
        ...(await inspect(dir, async ({ session, domain }) => {
          const { files, bytes, logs } = await session.run((store) => store.stats())
          const { damage, layers } = session.call((store) => store.status())
          const below = layers
            .map(({ path, problem }) => `, over ${path}${problem === null ? '' : ` (${problem})`}`)
            .join('')
          const found = `${dir}: ${files} files, ${size(bytes)}, ${logs} logs, ${damage.length} places damaged${below}${domain === 'untrusted' ? UNTRUSTED : ''}`
          const advice = `run 'varve repair --check --dir ${dir}' to list the damage, 'varve repair --dir ${dir}' to quarantine it; damaged entries are misses`
          const builds = session.call(readHistory)
          isKept ||= builds.length > 1
          return [{ what: 'cache', found, ...(damage.length > 0 ? { advice } : {}) }, ...diagnose(dir, builds)]
        })),
      )
    } catch (error) {
      findings.push({ what: 'cache', found: join(dir, name), advice: toVarveError(error).message })
    }
  }
  return isKept ? findings : [...findings, ...layerFindings(folder)]
}

/** A directory that ends with its container. If two builds have used the cache, it is kept in some way. */
function layerFindings(folder: string): FindingJson[] {
  const note = 'if each build starts a new container, mount a volume or a cache mount there, or set VARVE_DIR to one'
  return isInContainerLayer(folder, mountsHere())
    ? [{ what: 'container', found: `${folder} is discarded with this container`, note }]
    : []
}

/** The mounts that this process sees; empty where the system does not list them. */
function mountsHere(): string {
  try {
    return disk.readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

function safeCaches(given: string | undefined): string[] {
  try {
    return findCaches(given)
  } catch {
    return []
  }
}

function nearest(folder: string): string {
  let existing = folder
  while (!disk.existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  return existing
}
