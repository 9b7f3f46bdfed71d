// @ts-check
// Typical defects of a store (`defects.mjs`). The suites run with each defect until one fails; a defect that no suite detects is a missing
// test. A case is the name of a defect.
import { readFileSync } from 'node:fs'
import { at } from '../../../scripts/common/root.mjs'
import { defects } from './defects.mjs'
import { buildSuites, runSound, runWith } from './suites.mjs'

/** @typedef {import('../suite.mjs').Order} Order */
/** @typedef {import('../suite.mjs').Outcome} Outcome */
/** @typedef {import('./suites.mjs').Suite} Suite */
/** @typedef {import('./suites.mjs').Verdict} Verdict */

/** @param {Order} order @returns {Promise<Outcome>} */
export async function bugs({ replay, say }) {
  const suites = await buildSuites()
  const chosen = defects.filter(({ name }) => replay === undefined || replay === name)
  if (chosen.length === 0) throw new Error(`no such defect: ${replay}`)
  /** @type {{ what: string, replay: string }[]} */
  const violations = unknownNames().map((name) => ({
    what: `'${name}' is in the sources and not in the list`,
    replay: '',
  }))
  /** @type {Map<string, Verdict>} Runs without a defect, by suite. */
  const sound = new Map()
  let caught = 0
  /** @type {Record<string, number>} */
  const seconds = {}
  for (const { name, first } of chosen) {
    const ordered = [...suites].sort((one, other) => Number(other.name === first) - Number(one.name === first))
    const verdict = await firstToNotice(name, ordered, sound)
    say(
      `${name}: ${verdict === undefined ? 'not detected' : `${verdict.suite} after ${verdict.seconds} s: ${verdict.how}`}`,
    )
    if (verdict === undefined) violations.push({ what: `no suite detects '${name}'`, replay: name })
    else caught++
    if (verdict !== undefined) seconds[`${name}, by ${verdict.suite}`] = verdict.seconds
  }
  const failed = [...sound].filter(([, verdict]) => verdict.caught)
  const red = failed.map(([suite, { how }]) => ({ what: `${suite} fails without any defect: ${how}`, replay: '' }))
  return {
    figures: { defects: chosen.length, caught, ...seconds },
    goals: { caught: { min: chosen.length } },
    violations: [...violations, ...red],
  }
}

/** @param {string} name @param {readonly Suite[]} suites @param {Map<string, Verdict>} sound */
async function firstToNotice(name, suites, sound) {
  let ms = 0
  for (const suite of suites) {
    const without = sound.get(suite.name) ?? (await runSound(suite))
    sound.set(suite.name, without)
    if (without.caught) continue // a suite detects a defect only if it passes without one
    const found = await runWith(suite, name, without.ms)
    ms += found.ms
    if (found.caught) return { suite: suite.name, how: found.how, seconds: Math.round(ms / 100) / 10 }
  }
  return undefined
}

/** Defects in the use of files that are missing in the list. */
function unknownNames() {
  const source = readFileSync(at('crates/core/src/platform/failpoints/vfs.rs'), 'utf8')
  const inFiles = /const DEFECTS[^=]*= \[([^\]]*)\]/.exec(source)?.[1] ?? ''
  const names = [...inFiles.matchAll(/"([\w-]+)"/g)].map((match) => match[1] ?? '')
  return names.filter((name) => defects.every((one) => one.name !== name))
}
