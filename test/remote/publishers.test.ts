/** Many publishers at the same time on a real server, whose conditional PUT decides which of them is first. */
import { s3, verifyRemote } from '@varve/remote'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { slow } from '../slow.ts'
import { danglingOf, Machine, namesOf } from './machines.ts'
import { CREDENTIALS, type Started, startS3 } from './servers.ts'

describe.skipIf(startS3 === undefined)('S3 (versitygw)', () => {
  let started: Started | undefined
  beforeAll(async () => {
    started = await startS3?.()
  })
  afterAll(async () => started?.stop())

  const storeAt = (prefix: string): ReturnType<typeof s3> => {
    const endpoint = new URL(started?.address ?? '').searchParams.get('endpoint') ?? ''
    return s3({ bucket: 'bucket', prefix, endpoint, credentials: CREDENTIALS, requestMs: 60_000 })
  }

  it('16 publishers of the same build at one commit make one manifest and one layer, and leave nothing dangling', async () => {
    const store = storeAt('one-commit')
    const commit = '1'.padStart(40, '0')
    const machines = await Promise.all(Array.from({ length: 16 }, () => new Machine(store).put({ a: '1', b: '2' })))
    const reports = await Promise.all(machines.map((machine) => machine.push({ commit })))
    expect(reports.filter(({ outcome }) => outcome === 'published')).toHaveLength(1)
    const kinds = (await namesOf(store)).map((name) => name.split('/').slice(0, -1).join('/')).sort()
    expect(kinds).toEqual(['v1/trusted/chunk', 'v1/trusted/layer', 'v1/trusted/main', 'v1/trusted/main/manifest'])
    expect([await danglingOf(store), await new Machine(store).read()]).toEqual([[], { a: '1', b: '2' }])
  })

  it('8 publishers with 10 changes each make 80 generations, and no entry is lost', slow, async () => {
    const store = storeAt('many')
    const generations: number[] = []
    const publisher = async (name: number): Promise<void> => {
      const machine = new Machine(store)
      for (let turn = 0; turn < 10; turn++) {
        await machine.put({ [`${name}-${turn}`]: 'value' })
        generations.push((await machine.push({}, machine.writer({ budgetMs: 240_000 }))).generation)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, name) => publisher(name)))
    expect(generations.sort((one, other) => one - other)).toEqual(Array.from({ length: 80 }, (_, index) => index + 1))
    expect(Object.keys(await new Machine(store).read())).toHaveLength(80)
    expect(await verifyRemote(new Machine(store).remote())).toMatchObject({ sound: true, problems: [] })
  })
})
