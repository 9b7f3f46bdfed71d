/** Publishers that are killed at random points: readers find a consistent remote, nothing that was published is lost, and gc removes the rest. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type BlobStore, directory, gc, type S3Options, s3, verifyRemote } from '@varve/remote'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { type Random, randomOf, runSeed } from '../random.ts'
import { noise } from '../safety/random.mjs'
import { slow } from '../slow.ts'
import { danglingOf, KEYS, Machine } from './machines.ts'
import { CREDENTIALS, startS3 } from './servers.ts'

const PUBLISHER = fileURLToPath(new URL('publisher.mjs', import.meta.url))

/** A store, and what a publisher in another process opens it with. */
interface Place {
  readonly store: BlobStore
  readonly opened: string | S3Options
}

/** Runs a publisher and kills it `afterMs` after it is ready. Returns how long it took from there, and whether it was done. */
async function publish(
  { opened }: Place,
  entries: Record<string, string>,
  afterMs: number,
): Promise<{ ms: number; isDone: boolean }> {
  const child = spawn(process.execPath, [PUBLISHER], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify({ store: opened, folder: makeFolder(), keys: KEYS, entries }))
  const ended = once(child, 'close')
  await once(child.stdout, 'data')
  const startMs = performance.now()
  let isDone = false
  child.stdout.on('data', (text: Buffer) => void (isDone ||= String(text).includes('done')))
  await Promise.race([delay(afterMs), ended])
  child.kill('SIGKILL')
  await ended
  return { ms: performance.now() - startMs, isDone }
}

/** Values with little in common, so that each publication has chunks of its own. */
function entriesOf(round: number, random: Random): Record<string, string> {
  return {
    [`small ${round}`]: `${random(1000)}`,
    [`large ${round}`]: noise(random(2 ** 31), 1_200_000).toString('base64'),
  }
}

async function check(place: Place, rounds: number, name: string): Promise<void> {
  const random = randomOf(runSeed(`publishers that are killed, ${name}`))
  const published: Record<string, string> = entriesOf(0, random)
  const { ms, isDone } = await publish(place, published, 60_000)
  expect(isDone).toBe(true)
  let killed = 0
  for (let round = 1; round <= rounds; round++) {
    const entries = entriesOf(round, random)
    const afterMs = random(Math.ceil(1.2 * ms))
    const outcome = await publish(place, entries, afterMs)
    killed += outcome.isDone ? 0 : 1
    const found = await new Machine(place.store).read()
    const { sound, problems } = await verifyRemote(new Machine(place.store).remote())
    expect([round, afterMs, sound, problems]).toEqual([round, afterMs, true, []])
    // The head may have been replaced before the publisher printed `done`: all of its entries are there, or none.
    if (outcome.isDone || `small ${round}` in found) Object.assign(published, entries)
    expect(found).toEqual(published)
  }
  expect(killed).toBeGreaterThan(0)
  await gc(new Machine(place.store).writer(), { graceMs: 0 })
  expect([await danglingOf(place.store), await new Machine(place.store).read()]).toEqual([[], published])
}

const SHORT = 5
const LONG = 50

describe('publishers that are killed', () => {
  const inDirectory = async (rounds: number): Promise<void> => {
    const folder = join(makeFolder(), 'store')
    const store = directory(folder)
    await check({ store, opened: folder }, rounds, 'directory')
    const temporary = join(folder, '.temporary')
    for (const name of readdirSync(temporary)) utimesSync(join(temporary, name), 0, 0)
    await directory(folder).delete?.([])
    expect(readdirSync(temporary)).toEqual([])
  }
  const inS3 = async (rounds: number): Promise<void> => {
    const { address, stop } = await (startS3?.() ?? Promise.reject(new Error('no server')))
    const opened = {
      bucket: 'bucket',
      prefix: 'killed',
      endpoint: new URL(address).searchParams.get('endpoint') ?? '',
      credentials: CREDENTIALS,
    }
    await check({ store: s3(opened), opened }, rounds, 'S3').finally(stop)
  }

  it(`at ${SHORT} random points of a publication to a directory, leave it consistent`, () => inDirectory(SHORT))
  it(`at ${LONG} random points of a publication to a directory, leave it consistent`, slow, () => inDirectory(LONG))
  it.skipIf(startS3 === undefined)(`at ${LONG} random points of a publication to S3, leave it consistent`, slow, () =>
    inS3(LONG),
  )
})
