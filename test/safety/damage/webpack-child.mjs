// @ts-check
// Builds a small application with webpack over damaged caches, one after the other; prints for each what came out and how
// many modules were built. With `again` in its order it is the next process, over the same folders.
import { join } from 'node:path'
import { answerCases } from './batches.mjs'
import { damageFolder } from './generations.mjs'
import { build } from './webpack-build.mjs'

/** @typedef {{ base: string, work: string, again: boolean }} Order */

await answerCases(async (/** @type {Order} */ { base, work, again }, text, index) => {
  const [engines = '', ...rest] = text.split(' ')
  const [writer = '', reader = ''] = engines.split('>')
  const dir = join(work, String(index))
  if (!again) damageFolder(join(base, writer), dir, rest.join(' '))
  return build(join(base, 'app'), dir, /** @type {'native' | 'wasm'} */ (reader))
})
