// @ts-check
// Runs the workloads as a command: options, progress on stderr, and one line of JSON on stdout for each id and subject.
//
//   --quick          all workloads within a minute
//   --only <prefix>  only ids with this prefix; may be repeated
//   --rounds <n>     this number of rounds for every workload
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { step } from '../../scripts/common/steps.mjs'
import { runPaired } from './paired.mjs'
import { takesPart } from './subject.mjs'
import { workloads } from './workloads.mjs'
import { printProcessor } from '../processor.mjs'

const OPTIONS = /** @type {const} */ ({
  quick: { type: 'boolean' },
  only: { type: 'string', multiple: true },
  rounds: { type: 'string' },
})

/** @param {readonly import('./subject.mjs').Subject[]} subjects */
export async function benchmark(subjects) {
  const { values: options } = parseArgs({ options: OPTIONS })
  const only = options.only ?? ['']
  const chosen = workloads(options.quick ?? false).filter(({ id }) => only.some((prefix) => id.startsWith(prefix)))
  if (chosen.length === 0) throw new Error(`no id begins with ${only.join(' or ')}`)
  printProcessor()
  for (const workload of chosen) {
    const { id, unit } = workload
    const taking = subjects.filter((subject) => takesPart(subject, id))
    const rounds = Number(options.rounds ?? workload.rounds)
    const dir = mkdtempSync(join(tmpdir(), 'varve-bench-'))
    try {
      const outcomes = await step(id, () => runPaired(workload, taking, dir, rounds))
      for (const { subject, wall, cpu } of outcomes) {
        const { name, engine, version } = subject
        const line = { id, name, engine, version, unit, wall: rounded(wall), cpu: rounded(cpu), rounds }
        process.stdout.write(`${JSON.stringify(line)}\n`)
      }
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  }
}

/** Four significant digits. @param {number} number */
const rounded = (number) => Number(number.toPrecision(4))
