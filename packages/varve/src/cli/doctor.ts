/** `varve doctor`: which engine runs here and why, what the folder's file system can do, what to mend. */
import type { Command } from 'commander'
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { cachesDirectory } from '../directory.ts'
import { loadEngine } from '../engine/load.ts'
import { toVarveError } from '../errors.ts'
import { command, type CommonOptions } from './command.ts'
import { escapeText } from './escape.ts'
import { NEGATIVE } from './exit.ts'
import { FORMAT_FOLDER, findCaches, inspect, isCache } from './folder.ts'
import { size, table, write, writeJson } from './output.ts'

/** One thing looked at. */
interface Finding {
  readonly what: string
  readonly found: string
  /** What to do about it; undefined where all is well. */
  readonly advice?: string
}

export const doctorCommand: Command = command('doctor', 'what runs here and why, what the folder can do, what to mend').action(run)

async function run(options: CommonOptions): Promise<void> {
  const folder = options.dir === undefined ? cachesDirectory() : resolve(options.dir)
  const findings = [...(await engineFindings()), ...folderFindings(folder), ...(await cacheFindings(options.dir))]
  if (findings.some((finding) => finding.advice !== undefined)) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson(findings)
  const rows = findings.map(({ what, found, advice }) => [advice === undefined ? 'ok' : '!', what, escapeText(found)])
  await write(table(['', 'what', 'found'], rows))
  for (const { what, advice } of findings) if (advice !== undefined) await write(`${what}: ${escapeText(advice)}\n`)
}

async function engineFindings(): Promise<Finding[]> {
  const node = { what: 'node', found: `${process.version} on ${process.platform}-${process.arch}` }
  try {
    const { engine, reason } = await loadEngine({ engine: 'auto' })
    const isChosen = engine.name === 'native' || process.env['VARVE_ENGINE'] === 'wasm'
    const advice = 'WebAssembly reads and writes the same cache, slower; install the addon of this platform for full speed'
    return [node, { what: 'engine', found: reason, ...(isChosen ? {} : { advice }) }]
  } catch (error) {
    return [node, { what: 'engine', found: 'none', advice: toVarveError(error).message }]
  }
}

function folderFindings(folder: string): Finding[] {
  const existing = nearest(folder)
  const findings: Finding[] = [{ what: 'folder', found: existing === folder ? folder : `${folder} (not there yet)` }]
  try {
    accessSync(existing, constants.W_OK)
    findings.push({ what: 'writable', found: 'yes' })
  } catch {
    const advice = 'builds read what is there and keep the rest in memory; make the folder writable or name another with VARVE_DIR'
    findings.push({ what: 'writable', found: 'no', advice })
  }
  const { bavail, bsize } = statfsSync(existing)
  const free = bavail * bsize
  const advice = 'less than the default cap of 1 GiB; set maxBytes or free some'
  findings.push({ what: 'free space', found: size(free), ...(free < 1024 ** 3 ? { advice } : {}) })
  return findings
}

async function cacheFindings(given: string | undefined): Promise<Finding[]> {
  const folder = given === undefined ? cachesDirectory() : resolve(given)
  const caches = isCache(folder) || existsSync(folder) ? safeCaches(given) : []
  if (caches.length === 0) return [{ what: 'caches', found: `none below ${folder}; the first commit makes one` }]
  const findings: Finding[] = []
  for (const dir of caches) {
    try {
      findings.push(await inspect(dir, async ({ session }) => {
        const { files, bytes, logs } = await session.run((store) => store.stats())
        const { damage } = session.call((store) => store.status())
        const found = `${dir}: ${files} files, ${size(bytes)}, ${logs} logs, ${damage.length} places damaged`
        const advice = `run 'varve verify --dir ${dir}'; the next commit sets damage aside, until then it is a miss`
        return { what: 'cache', found, ...(damage.length > 0 ? { advice } : {}) }
      }))
    } catch (error) {
      findings.push({ what: 'cache', found: join(dir, FORMAT_FOLDER), advice: toVarveError(error).message })
    }
  }
  return findings
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
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  return existing
}
