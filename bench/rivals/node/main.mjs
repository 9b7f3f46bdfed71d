// @ts-check
// `node bench/rivals/node/main.mjs`: runs the workloads of bench/api on Varve and on comparable stores.
import { setup } from '../../../scripts/setup.mjs'
import { runMain } from '../../../scripts/common/steps.mjs'
import { benchmark } from '../../api/benchmark.mjs'
import { varve } from '../../api/subjects/varve.mjs'
import { installRivals } from './install.mjs'

await runMain(async () => {
  await setup()
  await installRivals()
  const { lmdb } = await import('./subjects/lmdb.mjs')
  const { classicLevel } = await import('./subjects/classic-level.mjs')
  const { betterSqlite3 } = await import('./subjects/better-sqlite3.mjs')
  const { cacacheSubject } = await import('./subjects/cacache.mjs')
  const { map } = await import('./subjects/map.mjs')
  await benchmark([await varve('native'), await varve('wasm'), lmdb, classicLevel, betterSqlite3, cacacheSubject, map])
})
