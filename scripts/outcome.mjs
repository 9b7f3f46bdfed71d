// @ts-check
// How many tests passed and failed, read from what the runners report.

/** @typedef {{ passed: number, failed: number }} Outcome */
/**
 * @typedef {object} VitestReport
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {{ status: string, assertionResults: unknown[] }[]} testResults one a file
 */

/**
 * From the closing lines of cargo's test binaries: "test result: ok. 12 passed; 0 failed; ...".
 * @param {string} output
 * @returns {Outcome}
 */
export function readCargo(output) {
  const outcome = { passed: 0, failed: 0 }
  for (const [, passed, failed] of output.matchAll(/^test result: .*? (\d+) passed; (\d+) failed;/gm)) {
    outcome.passed += Number(passed)
    outcome.failed += Number(failed)
  }
  return outcome
}

/**
 * From vitest's JSON report. A file that could not be loaded counts as one failure.
 * @param {string} report
 * @returns {Outcome}
 */
export function readVitest(report) {
  /** @type {VitestReport} */
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(report)
  const notLoaded = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
  return { passed: numPassedTests, failed: numFailedTests + notLoaded.length }
}

/**
 * The sum. A runner that failed without naming a test (it did not compile, it crashed) counts as one failure, so that
 * the numbers never look better than the exit code.
 * @param {readonly { outcome: Outcome, exitCode: number }[]} runners
 * @returns {Outcome}
 */
export function sumOutcomes(runners) {
  const sum = { passed: 0, failed: 0 }
  for (const { outcome, exitCode } of runners) {
    sum.passed += outcome.passed
    sum.failed += exitCode !== 0 && outcome.failed === 0 ? 1 : outcome.failed
  }
  return sum
}
