/**
 * Random programs that read and change files, themselves and by other programs, before a task that tracks reads, and random changes between
 * their runs: the task always returns what its work would, with what the program has in memory. Prints its seed; VARVE_SEED repeats it.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { pick, type Random, randomOf, runSeed } from '../random.ts'
import { slow } from '../slow.ts'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))
const HISTORIES = 12
const RUNS = 10
const PATHS = ['a', 'a', 'a', 'd', 'd/e']
const READS = ['read', 'read', 'exists', 'stat', 'list', 'tree']
const CHANGES = ['write', 'writeUnseen', 'copy', 'remove', 'removeUnseen', 'makeFolder', 'rename']

type Step = readonly [kind: string, path: string, other: string]

/** As `program.mjs` takes it. */
interface Program {
  readonly dir: string
  readonly id: string
  readonly first: readonly Step[]
  readonly work: readonly Step[]
  readonly last: readonly Step[]
}

function makeProgram(random: Random, dir: string, id: string): Program {
  const steps = (count: number, kinds: readonly string[]): Step[] =>
    Array.from({ length: count }, () => [pick(random, kinds), pick(random, PATHS), pick(random, PATHS)])
  const all = [...READS, ...CHANGES]
  const readAndChange: Step[] = [
    [pick(random, READS), 'a', 'a'],
    [pick(random, CHANGES), 'a', pick(random, PATHS)],
  ]
  const first = [...steps(random(3), all), ...readAndChange, ...steps(random(2), all)]
  return { dir, id, first, work: steps(3, READS), last: steps(random(3), CHANGES) }
}

/** Changes anything below `d`, and the content of `a`, which is a file in the end. */
function change(random: Random, root: string): void {
  const first = join(root, 'a')
  if (random(2) === 0 || !statSync(first, { throwIfNoEntry: false })?.isFile()) {
    rmSync(first, { recursive: true, force: true })
    writeFileSync(first, String(random(3)))
  }
  const path = join(root, pick(random, ['d', 'd/e', 'd/e']))
  try {
    const action = random(4)
    if (action === 0) rmSync(path, { recursive: true, force: true })
    else if (action === 1) mkdirSync(path, { recursive: true })
    else if (action === 2) writeFileSync(path, String(random(3)))
  } catch {
    // There is a folder where a file would be, or the other way around.
  }
}

it(
  'a task returns what its work would with what the program has read before, whatever it has changed since',
  slow,
  () => {
    const random = randomOf(runSeed('programs'))
    let hits = 0
    for (let history = 0; history < HISTORIES; history++) {
      const root = makeFolder()
      const project = join(root, 'project')
      mkdirSync(join(project, 'd'), { recursive: true })
      const programs = ['one', 'two'].map((id) => makeProgram(random, join(root, 'cache'), id))
      let program = pick(random, programs)
      for (let run = 0; run < RUNS; run++) {
        change(random, project)
        if (random(4) === 0) program = pick(random, programs)
        const out = execFileSync(process.execPath, [PROGRAM, JSON.stringify(program)], {
          cwd: project,
          encoding: 'utf8',
        })
        const { isHit, found, expected } = JSON.parse(out) as { isHit: boolean; found: string; expected: string }
        expect(found, JSON.stringify(program)).toBe(expected)
        if (isHit) hits++
      }
    }
    expect(hits).toBeGreaterThan(0)
  },
)
