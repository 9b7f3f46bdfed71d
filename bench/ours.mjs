// @ts-check
// `npm run bench`: Varve alone, engine and API, in a few minutes.
//
//   --full           all sizes and all rounds
//   --only <prefix>  only ids with this prefix; may be repeated
//   --json           one array on stdout instead of the table
import { setup } from '../scripts/setup.mjs'
import { runMain } from '../scripts/common/steps.mjs'
import { figuresOf, PLAIN, readOptions, shown, wanted } from './command.mjs'
import { OURS } from './programs.mjs'
import { jsonOf, resultsOfOurs } from './results.mjs'
import { printProcessor } from './processor.mjs'

/** @typedef {import('./results.mjs').Result} Result */

/** @param {readonly Result[]} results */
async function tableOf(results) {
  const { default: Table } = await import('cli-table3')
  const table = new Table({
    head: ['id', 'wall', 'cpu', ''],
    colAligns: ['left', 'right', 'right', 'left'],
    style: PLAIN,
  })
  for (const { id, metric, ours, unit } of results) {
    if (metric !== 'wall') continue
    const cpu = results.find((result) => result.id === id && result.metric === 'cpu')?.ours ?? null
    table.push([id, shown(ours), shown(cpu), unit])
  }
  return `${table.toString()}\n`
}

await runMain(async () => {
  const { isFull, isJson, only } = readOptions()
  await setup()
  printProcessor()
  const results = wanted(resultsOfOurs(await figuresOf(OURS, { isQuick: !isFull, only })), only)
  process.stdout.write(isJson ? jsonOf(results) : await tableOf(results))
})
