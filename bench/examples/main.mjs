// @ts-check
// `node bench/examples/main.mjs`: builds each project in `examples/`, with copies of one of its sources, without Varve, cold and warm,
// and compares the outputs. Writes the table of docs/examples.md and a picture for each to docs/images.
//
//   --only <name>    one example; may be repeated; then the table is printed, not written
//   --rounds <n>     the number of rounds (default 3)
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../../scripts/common/root.mjs'
import { setup } from '../../scripts/setup.mjs'
import { runMain, step } from '../../scripts/common/steps.mjs'
import { writeTable } from '../../scripts/common/table.mjs'
import { buildThrice, installExample, packVarve, WAYS } from '../../test/suites/examples/build.mjs'
import { EXAMPLES } from '../../test/suites/examples/projects.mjs'
import { median } from '../median.mjs'
import { bars } from '../bars.mjs'
import { printProcessor } from '../processor.mjs'
import { writeCopies } from './copies.mjs'

/** @typedef {import('../../test/suites/examples/build.mjs').Way} Way */

const HEAD = ['example', 'what is cached', 'copies', 'without Varve', 'first build', 'next builds']

/**
 * Medians of CPU seconds.
 * @param {import('../../test/suites/examples/projects.mjs').Example} example
 * @param {string} project
 * @param {number} rounds
 */
async function measure(example, project, rounds) {
  /** @type {Record<Way, number[]>} */
  const all = { without: [], cold: [], warm: [] }
  for (let round = 0; round < rounds; round++) {
    const built = await buildThrice(example, project)
    for (const way of WAYS) all[way].push(built[way].cpuSeconds)
  }
  return { without: median(all.without), cold: median(all.cold), warm: median(all.warm) }
}

/** @param {Readonly<Record<'without' | 'cold' | 'warm', number>>} times CPU seconds @returns {import('../bars.mjs').Bar[]} */
const barsOf = ({ without, cold, warm }) => [
  { way: 'without', name: 'without Varve', seconds: without },
  { way: 'cold', name: 'first build with Varve', seconds: cold },
  { way: 'warm', name: 'next builds', seconds: warm },
]

/** @param {number} value */
const seconds = (value) => `${value.toPrecision(value < 10 ? 2 : 3)} s`

await runMain(async () => {
  const { values } = parseArgs({ options: { only: { type: 'string', multiple: true }, rounds: { type: 'string', default: '3' } } })
  await setup()
  printProcessor()
  const tarballs = await packVarve()
  const folder = await mkdtemp(join(tmpdir(), 'varve-bench-examples-'))
  const rows = []
  try {
    for (const example of EXAMPLES.filter(({ name }) => values.only?.includes(name) ?? true)) {
      const { name, title, cached, copies } = example
      const project = join(folder, name)
      await step(`${name}: install`, () => installExample(example, project, tarballs))
      await writeCopies(example, project)
      const times = await step(`${name}: ${values.rounds} rounds`, () => measure(example, project, Number(values.rounds)))
      await writeFile(at(`docs/images/example-${name}.svg`), bars(`${title}: CPU seconds of a build`, barsOf(times)))
      rows.push([`[${title}](../examples/${name}/README.md)`, cached, String(copies), ...WAYS.map((way) => seconds(times[way]))])
      await rm(project, { recursive: true })
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  for (const row of [HEAD, ...rows]) process.stdout.write(`| ${row.join(' | ')} |\n`)
  if (values.only === undefined) await writeTable('docs/examples.md', 'examples', [HEAD, ...rows])
})
