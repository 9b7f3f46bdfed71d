// @ts-check
// Typical defects of a store (`failpoints::bug("name")` in the crates, and `platform/failpoints/vfs.rs` of core). The suites run
// with each defect until one fails; a defect that no suite detects is a missing test. A case is the name of a defect.
import { readFileSync } from 'node:fs'
import { at } from '../../../scripts/common/root.mjs'
import { plantedNames } from './panics.mjs'
import { buildSuites, runSound, runWith } from './suites.mjs'

/** @typedef {import('../suite.mjs').Order} Order */
/** @typedef {import('../suite.mjs').Outcome} Outcome */
/** @typedef {import('./suites.mjs').Suite} Suite */
/** @typedef {import('./suites.mjs').Verdict} Verdict */

/** Defects, and the suite that runs first. */
const DEFECTS = /** @type {const} */ ({
  'skip-table-sync': 'core',
  'skip-folder-sync': 'core',
  'link-before-sync': 'simulated states',
  'accept-short-write': 'core',
  'ack-before-sync': 'simulated calls',
  'retry-sync': 'simulated calls',
  'no-directory-checksum': 'core',
  'no-rows-checksum': 'core',
  'unsalted-checksum': 'core',
  'uncapped-length': 'units of core',
  'compaction-drops-newest': 'core',
  'forget-holes': 'core',
  'collect-live-file': 'core',
  'lock-always-free': 'core',
  'stale-after-refresh': 'core',
  'missing-tombstone': 'core',
  'equal-sequence': 'core',
  'compaction-takes-up-commits': 'core',
  'tolerate-unknown-format': 'core',
  'follow-symlink': 'API files',
  'dot-dot-in-restore': 'units of archive',
  'reused-buffer': 'API contract',
  'pool-part': 'units of disk',
  'believe-manifest-size': 'core',
  'trust-modification-time': 'API files',
  'unbounded-probes': 'units of core',
  'frozen-clock': 'core',
  'blind-append': 'core',
  'take-any-log': 'core',
  'append-to-any-log': 'core',
  'logs-by-name': 'core',
  'unsure-as-known': 'core',
  'broken-for-good': 'core',
  'base-by-number': 'core',
  'blobs-by-length': 'core',
  'withdraw-by-name': 'core',
  'pad-any-log': 'core',
  'numbers-run-out': 'core',
  'newer-than-table': 'core',
  'unlisted-logs': 'core',
  'forget-syncs': 'core',
  'no-cap': 'simulated interleavings',
  'damaged-as-torn': 'simulated interleavings',
  'reset-counts-old-logs': 'simulated interleavings',
  'reset-leaves-logs': 'core',
  'repair-without-merge': 'simulated interleavings',
  'attached-may-vanish': 'core',
  'one-key-for-all-files': 'core',
  'stale-second-open': 'API sharing',
  'leave-untested-logs': 'core',
  'layers-lose-deletes': 'core',
  'layers-ignore-versions': 'core',
  'unmarked-layers': 'simulated interleavings',
  'evicted-tables-show-layers': 'core',
  'delta-without-deletes': 'core',
  'seal-without-sync': 'core',
  'whole-path-keys': 'units of archive',
  'names-no-option': 'units of archive',
  'wait-for-fifo': 'API files',
  'pairs-for-good': 'core',
  'remove-by-name': 'core',
})

/** @param {Order} order @returns {Promise<Outcome>} */
export async function bugs({ replay, say }) {
  const suites = await buildSuites()
  const chosen = Object.entries(DEFECTS).filter(([name]) => replay === undefined || replay === name)
  if (chosen.length === 0) throw new Error(`no such defect: ${replay}`)
  /** @type {{ what: string, replay: string }[]} */
  const violations = [...unknownNames()].map((name) => ({
    what: `'${name}' is in the sources and not in the list`,
    replay: '',
  }))
  /** @type {Map<string, Verdict>} Runs without a defect, by suite. */
  const sound = new Map()
  let caught = 0
  /** @type {Record<string, number>} */
  const seconds = {}
  for (const [name, first] of chosen) {
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

/** Names in the sources that are missing in `DEFECTS`. */
function unknownNames() {
  const inFiles =
    /const DEFECTS[^=]*= \[([^\]]*)\]/.exec(
      readFileSync(at('crates/core/src/platform/failpoints/vfs.rs'), 'utf8'),
    )?.[1] ?? ''
  const names = new Set([
    ...plantedNames('bug'),
    ...[...inFiles.matchAll(/"([\w-]+)"/g)].map((match) => match[1] ?? ''),
  ])
  return [...names].filter((name) => !Object.hasOwn(DEFECTS, name))
}
