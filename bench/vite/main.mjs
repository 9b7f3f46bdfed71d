// @ts-check
// `node bench/vite/main.mjs`: builds an application of 2,000 modules with Vite and with Rollup, with three expensive plugins
// (vue, babel, mdx): without a cache, with an empty cache and with a full one. Each build runs in its own process, the three take
// turns, and all outputs must be the same. Needs `npm run setup`.
//
//   --tool <name>    vite or rollup (default: both)
//   --rounds <n>     the number of rounds (default 3; a round takes one to three minutes per tool)
//   --modules <n>    the number of modules (default 2,000)
//
// stdout: one JSON object per line, medians over the rounds. stderr: progress, and medians of the ratios within a round.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../../scripts/common/root.mjs'
import { run, runMain } from '../../scripts/common/steps.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'
import { writeApplication } from './application.mjs'

/** @typedef {import('./build.mjs').ToolName} ToolName */
/** @typedef {import('./build.mjs').Built & { bytes: number }} Sample */
/** @typedef {'no cache' | 'cold' | 'warm'} SubjectName */

const SUBJECTS = /** @type {const} */ (['no cache', 'cold', 'warm'])
const TOOLS = /** @type {const} */ (['vite', 'rollup'])
const METRICS = /** @type {const} */ (['wallMs', 'cpuMs'])

const { values: options } = parseArgs({
  options: {
    tool: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    modules: { type: 'string', default: '2000' },
  },
})

/** @param {string} text */
const log = (text) => void process.stderr.write(`${text}\n`)

/** @param {string} folder */
async function bytesBelow(folder) {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = names.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}

/**
 * One build without a cache, one that fills a cache, and one that finds everything in it. In every other round the first two
 * change places, so that neither always follows the same build.
 * @param {string} home
 * @param {ToolName} tool
 * @param {number} round
 */
async function buildRound(home, tool, round) {
  const cacheDir = join(home, `cache-${tool}`)
  await rm(cacheDir, { recursive: true, force: true })
  /** @type {Partial<Record<SubjectName, Sample>>} */
  const samples = {}
  for (const subject of round % 2 === 0 ? SUBJECTS : /** @type {const} */ (['cold', 'no cache', 'warm'])) {
    const order = {
      tool,
      isCached: subject !== 'no cache',
      folder: join(home, 'application'),
      output: join(home, `dist-${tool}`),
      cacheDir,
    }
    const out = await run(process.execPath, [at('bench/vite/build.mjs'), JSON.stringify(order)], {
      env: { ...process.env, NODE_ENV: 'production' },
    })
    samples[subject] = {
      ...JSON.parse(out.slice(out.lastIndexOf('{"wallMs"')).split('\n', 1).join('')),
      bytes: await bytesBelow(cacheDir),
    }
  }
  return /** @type {Record<SubjectName, Sample>} */ (samples)
}

/** @param {ToolName} tool @param {readonly Record<SubjectName, Sample>[]} rounds */
function print(tool, rounds) {
  for (const name of SUBJECTS) {
    for (const metric of METRICS) {
      const value = Number(median(rounds.map((round) => round[name][metric])).toPrecision(4))
      process.stdout.write(
        `${JSON.stringify({ id: `${tool}/modules_${options.modules}`, name, metric, value, rounds: rounds.length })}\n`,
      )
    }
  }
  for (const metric of METRICS) {
    const warm = median(rounds.map((round) => round.warm[metric] / round.cold[metric]))
    const cold = median(rounds.map((round) => round.cold[metric] / round['no cache'][metric]))
    log(`  ${tool} ${metric}: warm / cold = ${warm.toFixed(3)}, cold / no cache = ${cold.toFixed(3)}`)
  }
  const { warm } = rounds.at(-1) ?? {}
  log(`  ${tool}: ${warm?.hits} hits, ${warm?.misses} misses, ${warm?.bytes} bytes`)
}

await runMain(async () => {
  printProcessor()
  const home = await mkdtemp(join(tmpdir(), 'varve-bench-vite-'))
  try {
    await writeApplication(join(home, 'application'), Number(options.modules))
    for (const tool of TOOLS.filter((name) => options.tool === undefined || options.tool === name)) {
      const rounds = []
      for (let round = 0; round < Number(options.rounds); round++) {
        rounds.push(await buildRound(home, tool, round))
        log(`${tool}: round ${round + 1} of ${options.rounds}`)
      }
      const digests = new Set(rounds.flatMap((round) => SUBJECTS.map((name) => round[name].digest)))
      if (digests.size > 1) throw new Error(`${tool}: the outputs of builds of the same sources differ`)
      print(tool, rounds)
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
