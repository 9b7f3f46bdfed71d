/**
 * `varve estimate -- <build command>`: runs a build with the profiler of V8 in each of its Node.js processes, and adds up the time of the
 * main thread of the bundler in work whose results Varve could cache. It changes nothing of the build.
 */
import type { Command } from 'commander'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EstimateJson } from '../cli-json.ts'
import { VarveError } from '../errors.ts'
import { disk } from '../host/disk.ts'
import { command, type CommonOptions } from './command.ts'
import { type Bundling, bundlingIn } from './estimate/profile.ts'
import { profilerOption } from './estimate/profiler.ts'
import { duration, write, writeJson } from './output/output.ts'
import { FAILED, escapeText } from './output/escape.ts'

/** What is worth a cache: this part of a build, and this many milliseconds. */
const PART_MIN = 0.1
const MS_MIN = 1000

/** Parts that are named: at most this many, each with this part of the work that could be cached. */
const PARTS_MAX = 3
const NAMED_MIN = 0.05

/** A build that uses Varve already has an empty cache. */
const WITHOUT_RESULTS = { VARVE_LAYERS: '', VARVE_REMOTE: '' }

type Estimate = Omit<EstimateJson, 'format'>

export const estimateCommand: Command = command(
  'estimate',
  'run a build without Varve, and report how much of its work Varve could cache',
)
  .usage('[options] -- <build command>')
  .argument('<command...>', "the build with its arguments: 'npx varve estimate -- npm run build'")
  .action(run)

async function run(build: readonly string[], { json }: CommonOptions): Promise<void> {
  const folder = disk.mkdtempSync(join(tmpdir(), 'varve-estimate-'))
  try {
    const startMs = performance.now()
    const status = await runBuild(build, folder, json === true)
    const tookMs = Math.round(performance.now() - startMs)
    const estimate = { status, tookMs, ...largestIn(folder) }
    if (status !== 0) process.exitCode = FAILED
    if (json === true) return await writeJson('estimate', estimate)
    await write(textOf(estimate))
  } finally {
    disk.rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the command, whose processes write their profiles into `folder`. Returns its exit code. */
async function runBuild([file = '', ...args]: readonly string[], folder: string, isQuiet: boolean): Promise<number> {
  const options = [process.env['NODE_OPTIONS'] ?? '', profilerOption(folder)].filter((text) => text !== '')
  const child = spawn(file, args, {
    env: { ...process.env, ...WITHOUT_RESULTS, VARVE_DIR: join(folder, 'caches'), NODE_OPTIONS: options.join(' ') },
    stdio: ['inherit', isQuiet ? 'ignore' : 'inherit', 'inherit'],
    shell: process.platform === 'win32', // npm is a script there
  })
  try {
    const [code, signal]: unknown[] = await once(child, 'close')
    if (typeof code === 'number') return code
    const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0
    return 128 + number
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error))
    throw new VarveError('INVALID_ARGUMENT', `cannot run '${escapeText(file)}': ${message}`, { cause: error })
  }
}

/** The profile with the most work of a bundler. */
function largestIn(folder: string): Pick<Estimate, 'tool' | 'cacheableMs' | 'parts'> {
  let largest: Bundling | undefined
  for (const name of disk.readdirSync(folder).filter((each) => each.endsWith('.cpuprofile'))) {
    const found = bundlingIn(disk.readFileSync(join(folder, name), 'utf8'), process.cwd())
    if (found !== undefined && found.busyMs > (largest?.busyMs ?? 0)) largest = found
  }
  if (largest === undefined) return { tool: null, cacheableMs: 0, parts: [] }
  const parts = Array.from(largest.parts, ([name, ms]) => ({ name, ms: Math.round(ms) })).sort(
    (one, other) => other.ms - one.ms,
  )
  return { tool: largest.tool, cacheableMs: parts.reduce((sum, { ms }) => sum + ms, 0), parts }
}

function textOf({ status, tookMs, tool, cacheableMs, parts }: Estimate): string {
  if (status !== 0) return `the build failed with exit code ${status}, so there is no estimate\n`
  if (tool === null)
    return `nothing here is worth caching: of ${duration(tookMs)}, no work is that of a bundler which Varve caches\n`
  const large = parts.filter(({ ms }) => ms >= NAMED_MIN * cacheableMs)
  const named = large.slice(0, PARTS_MAX).map(({ name, ms }) => `${escapeText(name)} (${duration(ms)})`)
  if (cacheableMs < MS_MIN || cacheableMs < PART_MIN * tookMs) {
    const what = named.length === 0 ? 'no work' : `only ${duration(cacheableMs)} of work`
    return `nothing here is worth caching: of ${duration(tookMs)}, Varve could cache ${what} of ${tool}\n`
  }
  const list = named.length < 2 ? named.join('') : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`
  const second = duration(Math.max(0, tookMs - cacheableMs))
  return `of ${duration(tookMs)}, up to ${duration(cacheableMs)} are in ${list}: a second build with Varve would take about ${second}\n`
}
