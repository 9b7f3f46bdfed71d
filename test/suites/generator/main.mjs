// @ts-check
// Generated programs: random plugins over random edits, each built with Varve and without. A program that fails is made smaller
// and printed; its seed makes it again.
//
//   node test/suites/generator/main.mjs --tool rollup --count 200
//   node test/suites/generator/main.mjs --tool rollup --seed 17 --count 1
//   node test/suites/generator/main.mjs --tool rollup --with 'fetch|connect' --count 10
//   node test/suites/generator/main.mjs --tool rollup --without '^(size|collects)$'
import { parseArgs } from 'node:util'
import { featuresOf, generateProgram, TOOLS, withoutKinds } from './program.mjs'
import { Lane } from './run.mjs'
import { textOfFault } from './report.mjs'
import { shrink } from './shrink.mjs'

/** @typedef {import('./program.mjs').Tool} Tool */

/** Programs that share processes, because to start one takes longer than most builds. */
const TOGETHER = 12

/** A run of so many programs in which the cache answers nothing proves nothing. */
const IDLE_MIN = 10

/**
 * @typedef {object} Order
 * @property {readonly Tool[]} tools
 * @property {number} seed of the first program
 * @property {number} count of programs for each tool
 * @property {number} lanes programs that are built at the same time
 * @property {number} [together] programs that share processes
 * @property {boolean} isShrunk whether a program that fails is made smaller
 * @property {RegExp} [including] only programs that do something that matches
 * @property {RegExp} [without] no operation of a kind that matches
 */

/**
 * @param {Order} order
 * @param {(line: string) => void} report
 * @returns {Promise<number>} programs whose builds differed
 */
export async function runGenerator(order, report) {
  let failed = 0
  for (const tool of order.tools) {
    const programs = programsOf(tool, order)
    let hits = 0
    let builds = 0
    let faults = 0
    const work = async (/** @type {number} */ index) => {
      const lane = new Lane(`${tool}-${process.pid}-${index}`)
      const { together = TOGETHER } = order
      for (let next = programs.splice(0, together); next.length > 0; next = programs.splice(0, together)) {
        const verdicts = await lane.runAll(next)
        for (const [at, program] of next.entries()) {
          const verdict = verdicts[at]
          hits += verdict?.hits ?? 0
          builds += verdict?.builds ?? 0
          if (verdict?.fault === undefined) continue
          faults++
          const { fault } = verdict
          const isShrunk = order.isShrunk && fault.beside === undefined
          const small = isShrunk ? await shrink(program, fault, lane) : { program, fault }
          report(textOfFault(small.program, small.fault))
        }
      }
      lane.close()
    }
    await Promise.all(Array.from({ length: order.lanes }, (_, index) => work(index)))
    const isIdle = hits === 0 && order.count >= IDLE_MIN
    const idle = isIdle ? '; the cache answered nothing' : ''
    report(
      `${tool}: ${order.count} programs from seed ${order.seed}, ${builds} builds, ${hits} hits, ${faults} programs differ${idle}`,
    )
    failed += faults + (isIdle ? 1 : 0)
  }
  return failed
}

/** Seeds that are tried for the programs of an order. */
const SEEDS_MAX = 1_000_000

/** @param {Tool} tool @param {Order} order */
function programsOf(tool, { seed, count, including, without }) {
  /** @type {import('./program.mjs').Program[]} */
  const programs = []
  for (let next = seed; programs.length < count && next < seed + SEEDS_MAX; next++) {
    const program = generateProgram(next, tool)
    if (including === undefined || featuresOf(program).some((feature) => including.test(feature)))
      programs.push(without === undefined ? program : withoutKinds(program, without))
  }
  return programs
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      tool: { type: 'string', multiple: true, default: [...TOOLS] },
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '2000' },
      lanes: { type: 'string', default: '2' },
      together: { type: 'string', default: String(TOGETHER) },
      whole: { type: 'boolean', default: false },
      with: { type: 'string' },
      without: { type: 'string' },
    },
  })
  const tools = TOOLS.filter((tool) => values.tool.includes(tool))
  const { with: including, without } = values
  const order = {
    tools,
    seed: Number(values.seed),
    count: Number(values.count),
    lanes: Number(values.lanes),
    together: Number(values.together),
    isShrunk: !values.whole,
    ...(including === undefined ? {} : { including: new RegExp(including) }),
    ...(without === undefined ? {} : { without: new RegExp(without) }),
  }
  const failed = await runGenerator(order, (line) => void process.stdout.write(`${line}\n`))
  process.exitCode = failed > 0 ? 1 : 0
}
