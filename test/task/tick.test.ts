/**
 * Files with the same size and times. Of two writes of one file the content decides, as long as they may have been made in one tick.
 * Two files differ in their inode.
 */
import fs from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'

const HOUR_MS = 3_600_000

/** From now on it is `nowMs`, and both times of all files are `timeMs`. */
function freeze(nowMs: number, timeMs: number): void {
  vi.spyOn(Date, 'now').mockReturnValue(nowMs)
  const real = fs.statSync
  const frozen = (path: string): fs.Stats => Object.assign(real(path), { mtimeMs: timeMs, ctimeMs: timeMs })
  vi.spyOn(fs, 'statSync').mockImplementation(frozen as typeof fs.statSync)
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe.each(['native', 'wasm'] as const)('a file written twice in one tick: %s', (engine) => {
  it.each([
    { agoMs: 5, seconds: 'fractions', isFoundOut: true },
    { agoMs: -HOUR_MS, seconds: 'fractions', isFoundOut: true },
    { agoMs: 500, seconds: 'whole', isFoundOut: true },
    // After so long, another write in the same tick is impossible, so the content is not read.
    { agoMs: HOUR_MS, seconds: 'fractions', isFoundOut: false },
    { agoMs: HOUR_MS, seconds: 'whole', isFoundOut: false },
  ])('$agoMs ms before the run, $seconds seconds: found out $isFoundOut', async ({ agoMs, seconds, isFoundOut }) => {
    const root = makeFolder()
    const file = `${root}/a`
    const cache = await openCache({ name: 'tick', dir: `${root}/cache`, engine })
    const task = cache.task('read', { root, codec: 'text' })
    const run = (): Promise<string> => task.run({ id: 'id', files: ['a'] }, () => fs.readFileSync(file, 'utf8'))
    const now = Date.now()
    const time = now - agoMs
    freeze(now, seconds === 'whole' ? Math.floor(time / 1000) * 1000 : time + 0.125)
    fs.writeFileSync(file, 'one')
    expect(await run()).toBe('one')
    fs.writeFileSync(file, 'two')
    expect(await run()).toBe(isFoundOut ? 'two' : 'one')
    // Written while the work runs.
    await task.run({ id: 'other', files: ['a'] }, () => {
      fs.writeFileSync(file, 'six')
      return ''
    })
    expect(task.stats().notStored).toBe(isFoundOut ? 1 : 0)
    await cache.close()
  })

  it.skipIf(process.platform === 'win32').each([
    ['a link leads to another file', 'link', (next: string) => fs.symlinkSync('two', next)],
    ['another folder has the name', 'one', (next: string) => fs.renameSync(join(next, '../two'), next)],
  ])('the result of another file with the same size and times is used again: %s', async (_, name, make) => {
    const root = makeFolder()
    for (const folder of ['one', 'two']) {
      fs.mkdirSync(`${root}/${folder}`)
      fs.writeFileSync(`${root}/${folder}/a`, folder)
    }
    fs.symlinkSync('one', `${root}/link`)
    const cache = await openCache({ name: 'tick', dir: `${root}/cache`, engine })
    const task = cache.task('read', { root, codec: 'text' })
    const run = (): Promise<string> =>
      task.run({ id: 'id', files: [`${name}/a`] }, () => fs.readFileSync(`${root}/${name}/a`, 'utf8'))
    freeze(Date.now(), Date.now() - HOUR_MS)
    expect([await run(), await run()]).toEqual(['one', 'one'])
    fs.renameSync(`${root}/${name}`, `${root}/before`)
    make(`${root}/${name}`)
    expect(await run()).toBe('two')
    // While the work runs.
    await task.run({ id: 'other', files: [`${name}/a`] }, () => {
      fs.renameSync(`${root}/${name}`, `${root}/after`)
      fs.renameSync(`${root}/before`, `${root}/${name}`)
      return ''
    })
    expect(task.stats().notStored).toBe(1)
    await cache.close()
  })
})
