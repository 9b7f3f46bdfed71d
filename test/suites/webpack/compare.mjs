// @ts-check
// Two runs of one suite of tests, compared test by test.

/** @typedef {'passed' | 'failed' | 'skipped'} Status */
/** @typedef {Readonly<Record<string, Status>>} Run statuses by the full name of the test */

/**
 * @typedef {object} Comparison
 * @property {number} passed tests that passed in both runs
 * @property {readonly string[]} lost tests that passed before and do not pass with Varve, or did not run with it
 * @property {readonly string[]} right documented tests that pass with Varve after all
 * @property {readonly string[]} failedBefore tests that fail without Varve as well
 */

/**
 * @param {Run} before without Varve
 * @param {Run} after with Varve
 * @param {ReadonlySet<string>} [documented] tests that differ with Varve according to its documentation
 * @returns {Comparison}
 */
export function compare(before, after, documented = new Set()) {
  const names = Object.keys(before)
  const passing = names.filter((name) => before[name] === 'passed')
  return {
    passed: passing.filter((name) => after[name] === 'passed').length,
    lost: passing.filter((name) => after[name] !== 'passed' && !documented.has(name)),
    right: [...documented].filter((name) => after[name] === 'passed'),
    failedBefore: names.filter((name) => before[name] === 'failed'),
  }
}

/**
 * The statuses in a report of jest (`--json`). Names that occur twice get a number.
 * @param {{ testResults: readonly { assertionResults: readonly { fullName: string, status: string }[] }[] }} report
 * @returns {Run}
 */
export function readReport({ testResults }) {
  /** @type {Map<string, Status>} */
  const run = new Map()
  /** @type {Map<string, number>} */
  const seen = new Map()
  for (const { fullName, status } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    const times = (seen.get(fullName) ?? 0) + 1
    seen.set(fullName, times)
    run.set(
      times === 1 ? fullName : `${fullName} #${times}`,
      status === 'passed' || status === 'failed' ? status : 'skipped',
    )
  }
  return Object.fromEntries(run)
}

/**
 * The parts of a run: a test counts as it ended where it was not skipped.
 * @param {readonly Run[]} parts
 * @returns {Run}
 */
export function joinRuns(parts) {
  /** @type {Record<string, Status>} */
  const all = {}
  for (const [name, status] of parts.flatMap((run) => Object.entries(run)))
    if (status !== 'skipped' || !(name in all)) all[name] = status
  return all
}
