// @ts-check
// `node bench/webpack/reads.mjs [modules] [pairs]`: the cost of recording reads in a webpack build with Babel, as CPU time of the
// process. Pairs of builds with and without `trackReads` take turns, each in its own process: first cold, then warm.
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'
import { Site } from './site.mjs'

/** @typedef {'cold' | 'warm'} Kind */

const SUBJECTS = /** @type {const} */ (['varve', 'varve, reads not tracked'])
const [modules, pairs] = [Number(process.argv[2] ?? 300), Number(process.argv[3] ?? 5)]

printProcessor()
const site = await Site.make(modules)
/** @type {Record<Kind, { offMs: number, moreMs: number }[]>} */
const found = { cold: [], warm: [] }
try {
  for (let pair = 0; pair < pairs; pair++) {
    await site.removeCaches()
    for (const kind of /** @type {const} */ (['cold', 'warm'])) {
      const { varve, 'varve, reads not tracked': off } = await site.round(
        pair % 2 === 0 ? SUBJECTS : SUBJECTS.toReversed(),
      )
      if (kind === 'warm' && varve.misses + off.misses > 0) throw new Error('a warm build built modules')
      found[kind].push({ offMs: off.cpuMs, moreMs: varve.cpuMs - off.cpuMs })
    }
  }
} finally {
  await site.remove()
}
console.log(JSON.stringify({ modules, pairs, cold: summary('cold'), warm: summary('warm') }))

/** The median of the differences in each pair. @param {Kind} kind */
function summary(kind) {
  const [offMs, moreMs] = [median(found[kind].map((one) => one.offMs)), median(found[kind].map((one) => one.moreMs))]
  return {
    offMs: Math.round(offMs),
    moreMs: Math.round(moreMs * 10) / 10,
    percent: Math.round((moreMs / offMs) * 1000) / 10,
  }
}
