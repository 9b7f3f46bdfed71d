/** Whatever is under way when a compiler is closed or builds again, what it stored is there for the next one. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { buildOnce, type Host, makeHost } from './compile.ts'

type Configs = Configuration | Configuration[] | undefined

const options = { idleTimeoutForInitialStore: 0, buildDependencies: {} }

/** Packs that the plugin puts for this project in idle time are fewer; so are their slices. */
const PUTS_MAX = 24

/** An idle write that has not come this far by then is over, milliseconds. */
const WAIT_MS = 4000

function makeProject(): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), "import './part.js'\nimport('./part.js')\n")
  writeFileSync(join(folder, 'part.js'), "export default 'part'\n")
  return folder
}

/** Calls `then` on the stack of the write that puts the pack of this number, or when no more are put. */
function atPut({ stats }: Host, number: number, then: () => Promise<unknown>): Promise<{ isReached: boolean }> {
  let { stored } = stats
  let puts = 0
  const reached = new Promise<{ isReached: boolean }>((resolve, reject) => {
    const set = (value: number): void => {
      stored = value
      if (++puts === number) then().then(() => resolve({ isReached: true }), reject)
    }
    Object.defineProperty(stats, 'stored', { get: () => stored, set, configurable: true })
  })
  return Promise.race([reached, setTimeout(WAIT_MS, { isReached: false })])
}

/** Builds, does `then` at each put of the idle write, closes, and returns the puts at which another compiler has to build. */
async function lostPuts(
  config: Configs,
  step: number,
  then: (host: Host) => Promise<unknown>,
): Promise<{ puts: number; lost: number[] }> {
  const lost: number[] = []
  for (let put = 1; put <= PUTS_MAX; put += step) {
    const folder = makeProject()
    const host = makeHost(folder, config, options)
    await host.run()
    const { isReached } = await atPut(host, put, () => then(host))
    await host.close()
    if ((await buildOnce(folder, config, options)).counts.built > 0) lost.push(put)
    if (!isReached) return { puts: put - 1, lost }
  }
  return { puts: PUTS_MAX, lost }
}

const several = Array.from({ length: 12 }, (_, index) => ({
  name: `compiler ${index}`,
  output: { filename: `${index}.js` },
}))

it('a compiler that is closed at any moment of an idle slice loses nothing', async () => {
  const { puts, lost } = await lostPuts(undefined, 1, (host) => host.close())
  expect([lost, puts > 3]).toEqual([[], true])
})

it('a compiler that is closed a turn after any moment of an idle slice loses nothing', slow, async () => {
  const { puts, lost } = await lostPuts(undefined, 1, (host) => setImmediate().then(() => host.close()))
  expect([lost, puts > 3]).toEqual([[], true])
})

it('twelve compilers that are closed at any moment of an idle slice lose nothing', slow, async () => {
  const { puts, lost } = await lostPuts(several, 3, (host) => host.close())
  expect([lost, puts > 3]).toEqual([[], true])
})

it(
  'what was put before a build that stores nothing is committed in the idle time after it, not only when the compiler is closed',
  slow,
  async () => {
    const uncommitted: number[] = []
    for (let put = 1; put <= PUTS_MAX; put++) {
      const folder = makeProject()
      const host = makeHost(folder, undefined, { ...options, idleTimeout: 0 })
      await host.run()
      const { isReached } = await atPut(host, put, () => host.run())
      const others = async (): Promise<number> =>
        (await buildOnce(folder, undefined, { ...options, readOnly: true })).counts.built
      let built = await others()
      for (const startMs = Date.now(); built > 0 && Date.now() - startMs < WAIT_MS;) built = await others()
      if (built > 0) uncommitted.push(put)
      await host.close()
      if (!isReached) break
    }
    expect(uncommitted).toEqual([])
  },
)

it('a build that begins at any moment of an idle slice and stores nothing loses nothing', slow, async () => {
  const { puts, lost } = await lostPuts(undefined, 1, (host) => host.run())
  expect([lost, puts > 3]).toEqual([[], true])
})
