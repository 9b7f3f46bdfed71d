// @ts-check
// `npm run bench -- --rivals`: measures Varve and its rivals in the same run, against the goals. Results are stored in bench/results
// as JSON, unless only some ids are selected.
//
//   --quick          only ids with goals, in small sizes and few rounds
//   --only <prefix>  only ids with this prefix; may be repeated
//   --runs <n>       measures everything so often (default: 3, in the quick form 1) and marks ratios that differ by more than a tenth
//   --json           one array on stdout instead of the table
import { mkdirSync, writeFileSync } from 'node:fs'
import { at } from '../scripts/common/root.mjs'
import { setup } from '../scripts/setup.mjs'
import { runMain } from '../scripts/common/steps.mjs'
import { figuresOf, PLAIN, readOptions, shown, wanted } from './command.mjs'
import { goalPrefixes } from './goals.mjs'
import { readMachine, readVersions } from './machine.mjs'
import { PAIRED } from './programs.mjs'
import { combined, compare, jsonOf } from './results.mjs'

/** @typedef {import('./results.mjs').Repeated} Repeated */

const RESULTS = 'bench/results'
const HEAD = ['id', 'metric', 'ours', 'rival', 'unit', 'name of the rival', 'ratio', 'goal', 'met', 'remark']
const RIGHT = new Set(['ours', 'rival', 'ratio', 'goal'])
const SEQUENTIAL = 'sequential/items_'
/** The quick form: ids with goals, and for webpack the one quick size, which has no goal. */
const QUICK = [
  ...goalPrefixes().filter((prefix) => prefix !== SEQUENTIAL),
  `${SEQUENTIAL}100k`,
  `${SEQUENTIAL}600k`,
  'webpack/warm/modules_300',
]

/** @param {readonly Repeated[]} results @param {number} runs */
async function tableOf(results, runs) {
  const { default: Table } = await import('cli-table3')
  const colAligns = HEAD.map((name) =>
    RIGHT.has(name) ? /** @type {const} */ ('right') : /** @type {const} */ ('left'),
  )
  const table = new Table({ head: HEAD, colAligns, style: PLAIN })
  for (const { id, metric, ours, rival, unit, name, ratio, goal, isMet, range, isStable } of results) {
    const limit = goal === null ? '' : `${goal.of === 'ours' ? 'ours ' : ''}<= ${shown(goal.max)}`
    const remark = isStable ? '' : `not stable: ${range.map(shown).join(' - ')}`
    table.push([
      id,
      metric,
      shown(ours),
      shown(rival),
      unit,
      name,
      shown(ratio),
      limit,
      isMet === null ? '' : isMet ? 'yes' : 'NO',
      remark,
    ])
  }
  const goals = results.filter(({ goal }) => goal !== null)
  const stable = results.filter(({ isStable }) => isStable).length
  const unknown = 'one run, so it is not known which ratios are stable'
  const remark =
    runs < 2 ? unknown : `${stable} of ${results.length} ratios differ by at most a tenth over ${runs} runs`
  return `${table.toString()}\n${goals.filter(({ isMet }) => isMet).length} of ${goals.length} goals met; ${remark}\n`
}

/** @param {Record<string, string | number>} facts */
const listOf = (facts) =>
  Object.entries(facts)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')

await runMain(async () => {
  const { isQuick, isJson, only, runs } = readOptions()
  await setup()
  /** @type {Awaited<ReturnType<typeof figuresOf>>[]} */
  const measured = []
  for (let run = 0; run < runs; run++)
    measured.push(await figuresOf(PAIRED, { isQuick, only: only.length > 0 || !isQuick ? only : QUICK }))
  const results = wanted(combined(measured.map(compare)), only)
  const [machine, versions, date] = [await readMachine(), readVersions(), new Date().toISOString().slice(0, 10)]
  if (only.length === 0) {
    const kept = { machine, versions, date, quick: isQuick, runs, results, figures: measured.flat() }
    mkdirSync(at(RESULTS), { recursive: true })
    writeFileSync(at(`${RESULTS}/rivals.json`), `${JSON.stringify(kept, undefined, 2)}\n`)
    process.stderr.write(`  stored in ${RESULTS}/rivals.json\n`)
  }
  if (isJson) return void process.stdout.write(jsonOf(results))
  process.stdout.write(`${await tableOf(results, runs)}${date}: ${listOf(machine)}\n${listOf(versions)}\n`)
})
