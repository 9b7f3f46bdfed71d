// @ts-check
// `node bench/api/main.mjs`: measures the public API on both engines. bench/rivals/node/main.mjs also runs the rivals.
import { setup } from '../../scripts/setup.mjs'
import { runMain } from '../../scripts/common/steps.mjs'
import { benchmark } from './benchmark.mjs'
import { varve } from './subjects/varve.mjs'

await runMain(async () => {
  await setup()
  await benchmark([await varve('native'), await varve('wasm')])
})
