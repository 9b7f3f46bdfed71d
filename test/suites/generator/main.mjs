// @ts-check
// Generated programs: random plugins over random edits, each built with Varve and without. A program that fails is made smaller
// and printed; its seed makes it again.
//
//   node test/suites/generator/main.mjs --tool rollup --count 200
//   node test/suites/generator/main.mjs --tool rollup --seed 17 --count 1
//   node test/suites/generator/main.mjs --tool rollup --without '^(time|collects)$'
import { parseArgs } from 'node:util'
import { generateProgram, TOOLS, withoutKinds } from './program.mjs'
import { Lane } from './run.mjs'
import { textOfFault } from './report.mjs'
import { shrink } from './shrink.mjs'

/** @typedef {import('./program.mjs').Tool} Tool */

/**
 * @param {{ tools: readonly Tool[], seed: number, count: number, lanes: number, isShrunk: boolean, without?: RegExp }} options
 * @param {(line: string) => void} report
 * @returns {Promise<number>} programs whose builds differed
 */
export async function runGenerator({ tools, seed, count, lanes, isShrunk, without }, report) {
  let failed = 0
  for (const tool of tools) {
    const seeds = Array.from({ length: count }, (_, index) => seed + index)
    let hits = 0
    let builds = 0
    let faults = 0
    const work = async (/** @type {number} */ index) => {
      const lane = new Lane(`${tool}-${process.pid}-${index}`)
      for (let next = seeds.shift(); next !== undefined; next = seeds.shift()) {
        const whole = generateProgram(next, tool)
        const program = without === undefined ? whole : withoutKinds(whole, without)
        const verdict = await lane.run(program)
        hits += verdict.hits
        builds += verdict.builds
        if (verdict.fault === undefined) continue
        faults++
        const small = isShrunk ? await shrink(program, verdict.fault, lane) : { program, fault: verdict.fault }
        report(textOfFault(small.program, small.fault))
      }
      lane.close()
    }
    await Promise.all(Array.from({ length: lanes }, (_, index) => work(index)))
    report(`${tool}: ${count} programs from seed ${seed}, ${builds} builds, ${hits} hits, ${faults} programs differ`)
    if (hits === 0 && count >= 10) report(`${tool}: the cache answered nothing`)
    failed += faults + (hits === 0 && count >= 10 ? 1 : 0)
  }
  return failed
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      tool: { type: 'string', multiple: true, default: [...TOOLS] },
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '2000' },
      lanes: { type: 'string', default: '2' },
      whole: { type: 'boolean', default: false },
      without: { type: 'string' },
    },
  })
  const tools = TOOLS.filter((tool) => values.tool.includes(tool))
  const failed = await runGenerator(
    {
      tools,
      seed: Number(values.seed),
      count: Number(values.count),
      lanes: Number(values.lanes),
      isShrunk: !values.whole,
    },
    (line) => void process.stdout.write(`${line}\n`),
  )
  process.exitCode = failed > 0 ? 1 : 0
}
