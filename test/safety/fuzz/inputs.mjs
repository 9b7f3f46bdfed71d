// @ts-check
// Part `inputs`: libFuzzer runs each target of `fuzz.rs` for 30 seconds, two at a time. The stable toolchain builds it,
// because coverage counters are a pass of LLVM and the fuzzer is a crate. Inputs that panic, hang, take more than 512 MiB or
// break a promise are written to `target/fuzz/found`; replay: `<target>:<file>`.
import { mkdir, readdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { at } from '../../../scripts/common/root.mjs'
import { CommandFailed, run } from '../../../scripts/common/steps.mjs'
import { LOCKED, rustEnv } from '../../../scripts/common/tools.mjs'
import { inLanes } from '../lanes.mjs'

const TARGETS = ['manifest', 'log', 'table', 'block', 'tar', 'folder']
const SECONDS = 30
const LONG_SECONDS = 3600
const INPUT_BYTES_MAX = 8192
const MEMORY_MB_MAX = 512
const INPUT_SECONDS_MAX = 10

const COVERAGE = ['inline-8bit-counters', 'pc-table', 'trace-compares', 'level=4']
const FLAGS = [
  '-Cpasses=sancov-module',
  '-Ccodegen-units=1',
  ...COVERAGE.map((name) => `-Cllvm-args=-sanitizer-coverage-${name}`),
]
const FOLDER = 'target/fuzz'
const FOUND = `${FOLDER}/found`

/** @type {import('../suite.mjs').Part} */
export const inputs = {
  name: 'inputs',
  run: async (order) => {
    order.say('building the fuzzer')
    const programs = await build()
    await mkdir(at(FOUND), { recursive: true })
    if (order.replay !== undefined) return replay(programs, order.replay)
    const results = await inLanes(TARGETS, (target) => fuzz(programs, target, order), availableParallelism())
    return {
      figures: {
        targets: TARGETS.length,
        inputs: results.reduce((sum, { count }) => sum + count, 0),
        ...Object.fromEntries(results.map(({ target, count }) => [`inputs/${target}`, count])),
        memoryMbMax: Math.max(...results.map(({ memoryMb }) => memoryMb)),
      },
      goals: { targets: { min: 6 }, memoryMbMax: { max: 256 } },
      violations: results.flatMap(({ violations }) => violations),
    }
  },
}

/** Builds fuzzer and seeds; the folder of the programs. */
async function build() {
  const env = { ...rustEnv(), RUSTFLAGS: FLAGS.join(' ') }
  const host = (await run('rustc', ['-vV'], { env })).match(/^host: (.+)$/m)?.[1] ?? ''
  // With a named target, the flags do not apply to build scripts.
  const place = ['--manifest-path=test/safety/fuzz/Cargo.toml', `--target=${host}`, `--target-dir=${FOLDER}`]
  await run('cargo', ['build', '--release', LOCKED, ...place], { env })
  const seeds = ['run', '--profile=test', LOCKED, '--package=varve-safety', '--bin=seeds', '--', `${FOLDER}/corpus`]
  await run('cargo', seeds, { env: rustEnv() })
  return at(`${FOLDER}/${host}/release`)
}

/** @param {string} programs @param {string} target @param {import('../suite.mjs').Order} order */
async function fuzz(programs, target, order) {
  const before = await found(target)
  const options = [
    `-max_total_time=${order.isLong ? LONG_SECONDS : SECONDS}`,
    `-seed=${(order.seed % 2 ** 31) + 1}`,
    `-max_len=${INPUT_BYTES_MAX}`,
    `-timeout=${INPUT_SECONDS_MAX}`,
    `-rss_limit_mb=${MEMORY_MB_MAX}`,
    `-artifact_prefix=${FOUND}/${target}-`,
    '-print_final_stats=1',
  ]
  const { output, isSound } = await outcome(join(programs, target), [...options, `${FOLDER}/corpus/${target}`])
  const figure = (/** @type {string} */ name) => Number(output.match(new RegExp(`stat::${name}:\\s+(\\d+)`))?.[1] ?? 0)
  const count = figure('number_of_executed_units')
  order.say(`${target}: ${count} inputs`)
  const fresh = (await found(target)).filter((name) => !before.includes(name))
  const violations = fresh.map((name) => ({ what: story(output), replay: `${target}:${FOUND}/${name}` }))
  if (!isSound && violations.length === 0) violations.push({ what: story(output), replay: target })
  return { target, count, memoryMb: figure('peak_rss_mb'), violations }
}

/** What libFuzzer kept of a target. @param {string} target */
const found = async (target) => (await readdir(at(FOUND))).filter((name) => name.startsWith(`${target}-`))

/** @param {string} program @param {readonly string[]} args */
async function outcome(program, args) {
  try {
    return { output: await run(program, args), isSound: true }
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    return { output: error.output, isSound: false }
  }
}

/** The lines of a report that name the failure. @param {string} output */
function story(output) {
  const lines = output.split('\n')
  const first = lines.findIndex((line) => /panicked|ERROR: libFuzzer/.test(line))
  return first === -1 ? lines.slice(-5).join('\n') : lines.slice(first, first + 2).join('\n')
}

/** @param {string} programs @param {string} replayed */
async function replay(programs, replayed) {
  const [target = '', file] = replayed.split(':')
  const args = file === undefined ? [`-runs=0`, `${FOLDER}/corpus/${basename(target)}`] : [file]
  const { output, isSound } = await outcome(join(programs, target), args)
  return { figures: { inputs: 1 }, violations: isSound ? [] : [{ what: story(output), replay: replayed }] }
}
