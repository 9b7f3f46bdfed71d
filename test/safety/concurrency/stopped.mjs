// @ts-check
// A stopped writer (SIGSTOP) keeps the lock of its log. No process claims that log or waits for it, and after SIGCONT the
// writer's next commit is found. After kill -9, the next compaction checkpoints its log. Files contain no process numbers, so
// a process with the number of a killed one changes nothing.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openCache } from 'varve'
import { sleep } from './child.mjs'
import { Crowd } from './crowd.mjs'
import { engineOf, missingOf } from './group.mjs'

const ROUNDS_SHORT = 8
const ROUNDS_LONG = 1000
const COMMITS = 20
/** No call waits for a stopped writer; a busy machine may need this long for any call. */
const WAIT_MS_MAX = 5000

/** @type {import('../suite.mjs').Part} */
export const stopped = {
  name: 'stopped',
  async run({ seed, isLong }) {
    const total = new Crowd(1, seed, 'all')
    for (let round = 0; round < (isLong ? ROUNDS_LONG : ROUNDS_SHORT); round++) {
      const crowd = new Crowd(2, seed + round, 'all')
      await stop(crowd, engineOf(round))
      for (const [name, figure] of Object.entries(crowd.figures)) {
        total.figures[name] = name.endsWith('MaxMs')
          ? Math.max(total.figures[name] ?? 0, figure)
          : (total.figures[name] ?? 0) + figure
      }
      total.violations.push(...crowd.violations)
      crowd.remove()
    }
    total.remove()
    return {
      figures: total.figures,
      goals: { stops: { min: ROUNDS_SHORT }, takenOver: { min: ROUNDS_SHORT } },
      violations: total.violations,
    }
  },
}

/** @param {Crowd} crowd @param {import('./group.mjs').Engine} engine of those who do not stop */
async function stop(crowd, engine) {
  const holder = crowd.start('write', 'native', 0, { isQuiet: true })
  await holder.hear(({ done }) => done === COMMITS)
  holder.signal('SIGSTOP')
  await sleep(20) // its last messages arrive
  const before = logsOf(crowd.dir)
  const startMs = performance.now()
  const cache = await openCache({ name: 'soak', dir: crowd.dir, engine })
  const space = cache.namespace('n', { codec: 'text' })
  for (let number = 0; number < COMMITS; number++) {
    space.put(`other ${number}`, 'x')
    await cache.commit()
  }
  await cache.compact({ full: true })
  const ms = Math.round(performance.now() - startMs)
  crowd.figures['besideMaxMs'] = ms
  if (ms > WAIT_MS_MAX) crowd.violation(`a process waited ${ms} ms beside a stopped writer`)
  const stolen = before.filter((name) => !logsOf(crowd.dir).includes(name))
  if (stolen.length > 0) crowd.violation(`taken from a writer that lives: ${stolen.join(', ')}`)
  const from = holder.heard.length
  holder.signal('SIGCONT')
  await holder.hear(({ done }) => done > COMMITS + 5, from)
  cache.refresh()
  if (missingOf(space, crowd.acknowledged()).length > 0) crowd.violation('a writer that went on lost commits')
  crowd.count('stops')
  await holder.kill()
  crowd.count('commits', crowd.acknowledged().get(0)?.length ?? 0)
  await takeOver(crowd)
  await cache.close()
  await crowd.check()
}

/** @param {Crowd} crowd */
async function takeOver(crowd) {
  const { dir } = crowd
  const startMs = performance.now()
  const native = await openCache({ name: 'soak', dir, engine: 'native' })
  await native.compact()
  crowd.figures['takeOverMaxMs'] = Math.round(performance.now() - startMs)
  if (logsOf(dir).length > 1) crowd.violation(`the log of a dead writer stays: ${logsOf(dir).join(', ')}`)
  else crowd.count('takenOver')
  await native.close()
}

/** @param {string} dir */
const logsOf = (dir) => readdirSync(join(dir, 'v1')).filter((name) => /^\d+\.log$/.test(name))
