/** The same work on several threads of a process is done once, and no thread waits for one that has ended. */
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'
import { afterEach, describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'

const started: Worker[] = []

interface Team {
  readonly workers: readonly Worker[]
  /** How often the work was done. */
  count(): number
}

async function team(engine: 'native' | 'wasm', size: number, root: string = makeFolder()): Promise<Team> {
  const counts = new SharedArrayBuffer(4)
  const workerData = { dir: join(root, 'cache'), root, engine, counts }
  const workers = Array.from({ length: size }, () => new Worker(new URL('worker.mjs', import.meta.url), { workerData }))
  started.push(...workers)
  await Promise.all(workers.map((worker) => once(worker, 'message')))
  await new Promise((resolve) => setTimeout(resolve, 250)) // until they have settled on one table
  return { workers, count: () => Atomics.load(new Int32Array(counts), 0) }
}

async function ask(worker: Worker | undefined, order: object): Promise<unknown> {
  if (worker === undefined) throw new Error('no such worker')
  const answer = once(worker, 'message')
  worker.postMessage(order)
  const [value]: unknown[] = await answer
  return value
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.terminate()))
})

describe.each(['native', 'wasm'] as const)('tasks on threads: %s', (engine) => {
  it('threads that run the same work at the same time do it once, and all get the result', async () => {
    const { workers, count } = await team(engine, 4)
    for (let round = 1; round <= 5; round++) {
      const answers = await Promise.all(workers.map((worker) => ask(worker, { id: `round ${round}`, ms: 500 })))
      expect([answers, count()]).toEqual([workers.map(() => `${round} 100000`), round])
    }
  })

  it('a thread and the workers that it starts share work immediately', async () => {
    const root = makeFolder()
    const cache = await openCache({ name: 'tasks', dir: join(root, 'cache'), engine })
    const task = cache.task<{ number: number }>('threads', { root })
    const { workers, count } = await team(engine, 1, root)
    const theirs = ask(workers[0], { order: 'stop here', id: 'id', ms: 300 })
    expect(await theirs).toBe('stopped') // by now the work is under way there
    const ours = await task.run({ id: 'id' }, () => ({ number: 100 }))
    expect([ours.number, count(), task.stats().shared]).toEqual([1, 1, 1])
    await cache.close()
  })

  it('threads with different work do their own', async () => {
    const { workers, count } = await team(engine, 3)
    await Promise.all(workers.map((worker, index) => ask(worker, { id: `id ${index}`, ms: 50 })))
    expect(count()).toBe(3)
  })

  it('if shared work fails, each thread repeats it and gets its own error', async () => {
    const { workers } = await team(engine, 2)
    const answers = await Promise.all(workers.map((worker) => ask(worker, { order: 'fail', id: 'id', ms: 50 })))
    expect(answers.sort()).toEqual(['failed 1', 'failed 2'])
  })

  it('another thread does the work of a thread that ends while it works', slow, async () => {
    const { workers, count } = await team(engine, 3)
    const [doomed, ...others] = workers
    expect(await ask(doomed, { order: 'stop here', id: 'id', ms: 1e9 })).toBe('stopped')
    const answers = Promise.all(others.map((worker) => ask(worker, { id: 'id', ms: 50 })))
    await doomed?.terminate()
    expect([await answers, count()]).toEqual([['2 100000', '2 100000'], 2])
  })

  it('threads whose work waits for one another hang', async () => {
    const { workers } = await team(engine, 2)
    const [one, two] = workers
    const startMs = performance.now()
    const answers = await Promise.all([
      ask(one, { order: 'chain', id: 'a', next: ['b'], ms: 150 }),
      ask(two, { order: 'chain', id: 'b', next: ['c', 'a'], ms: 50 }),
    ])
    const cycles = ['a,b,c,a', 'b,c,a,b', 'c,a,b,c'].map((chain) => `TASK_CYCLE ${chain}`)
    for (const answer of answers) expect([...cycles, '0']).toContain(answer)
    expect(answers.some((answer) => cycles.includes(String(answer)))).toBe(true)
    expect(performance.now() - startMs).toBeLessThan(10_000)
  })

  it('threads that wait for each other without a cycle get the result', async () => {
    const { workers, count } = await team(engine, 3)
    const orders = workers.map((_, index) => ({ order: 'chain', id: `id ${index}`, next: ['b', 'c'], ms: 60 }))
    const answers = await Promise.all(workers.map((worker, index) => ask(worker, orders[index] ?? {})))
    expect([answers, count()]).toEqual([['0', '0', '0'], 5])
  })

  it('no thread waits for one that blocks its event loop for seconds', slow, async () => {
    const { workers, count } = await team(engine, 2)
    const [busy, other] = workers
    const blocked = ask(busy, { order: 'block', id: 'id', ms: 5000 })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await ask(other, { id: 'id', ms: 10 })).toBe('2 100000')
    expect([await blocked, count()]).toEqual(['1 100000', 2])
  })
})
