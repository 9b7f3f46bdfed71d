// @ts-check
// `node bench/webpack/main.mjs`: the webpack plugin against webpack's own filesystem cache, and against no cache. Each build runs
// in its own process, the subjects take turns, and all outputs must be the same. Needs `npm run setup`.
//
//   --quick          the small application and few rounds, at most a minute and a half
//   --only <prefix>  only ids with this prefix; may be repeated
//   --rounds <n>     the number of rounds of each trial (all trials take some 15 minutes)
//
// stdout: one JSON object per line, medians over the rounds. stderr: progress, and a comparison of the caches: medians of the
// ratios within a round, which vary less than ratios of medians on a busy machine.
import { parseArgs } from 'node:util'
import { runMain } from '../../scripts/common/steps.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'
import { Site, SUBJECTS } from './site.mjs'
import { RUN, TRIALS } from './trials.mjs'

/** @typedef {import('./site.mjs').Sample} Sample */
/** @typedef {import('./trials.mjs').Round} Round */
/** @typedef {import('./trials.mjs').Trial} Trial */

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    only: { type: 'string', multiple: true, default: [''] },
    rounds: { type: 'string' },
  },
})

/** @type {readonly { metric: string, unit: string, of: (sample: Sample) => number | undefined }[]} */
const METRICS = [
  { metric: 'wall', unit: 'ms', of: ({ wallMs }) => wallMs },
  { metric: 'cpu', unit: 'ms', of: ({ cpuMs }) => cpuMs },
  { metric: 'bytes', unit: 'B', of: ({ bytes }) => (bytes === 0 ? undefined : bytes) },
  { metric: 'growth', unit: 'times live', of: ({ growth }) => growth },
]

/** @param {string} text */
const log = (text) => void process.stderr.write(`${text}\n`)

/** @param {Trial} trial */
function roundsOf({ rounds, quickRounds }) {
  if (options.rounds !== undefined) return Number(options.rounds)
  return options.quick ? quickRounds : rounds
}

/** @param {Trial} trial */
function isWanted({ id, quickRounds }) {
  return options.only.some((prefix) => id.startsWith(prefix)) && !(options.quick && quickRounds === 0)
}

/**
 * Prints the figures of a trial.
 * @param {Trial} trial
 * @param {readonly Round[]} rounds
 */
function print({ id, kind }, rounds) {
  for (const { metric, unit, of } of METRICS) {
    if (kind === 'growth' && (metric === 'wall' || metric === 'cpu')) continue
    for (const name of SUBJECTS) {
      const values = rounds.flatMap((round) => (round[name] && of(round[name])) ?? [])
      if (values.length === 0) continue
      const value = Number(median(values).toPrecision(6))
      process.stdout.write(`${JSON.stringify({ id, name, metric, value, unit, rounds: values.length })}\n`)
    }
    const ratios = rounds.flatMap(
      ({ varve, 'webpack filesystem': own }) => (varve && own && (of(varve) ?? 0) / (of(own) ?? 0)) ?? [],
    )
    const ratio = median(ratios.filter((one) => !Number.isNaN(one)))
    if (!Number.isNaN(ratio)) log(`  ${id} ${metric}: varve / webpack filesystem = ${ratio.toFixed(3)}`)
  }
}

await runMain(async () => {
  const { default: webpack } = await import('webpack')
  printProcessor()
  log(`webpack ${webpack.version}`)
  const wanted = TRIALS.filter(isWanted)
  for (const modules of new Set(wanted.map((trial) => trial.modules))) {
    const site = await Site.make(modules)
    try {
      for (const trial of wanted.filter((one) => one.modules === modules)) {
        log(trial.id)
        print(trial, await RUN[trial.kind](site, roundsOf(trial), (note) => log(`  ${note}`)))
      }
    } finally {
      await site.remove()
    }
  }
})
