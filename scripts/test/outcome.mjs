// @ts-check
// The numbers of passed and failed tests, from the output of the test runners.

/** @typedef {{ passed: number, failed: number }} Outcome */

/**
 * Reads the closing lines of cargo's test binaries: "test result: ok. 12 passed; 0 failed; ...".
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
 * Reads the closing line of a command that sums up: "12 passed, 0 failed".
 * @param {string} output
 * @returns {Outcome}
 */
export function readSum(output) {
  const [, passed = 0, failed = 0] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? []
  return { passed: Number(passed), failed: Number(failed) }
}

/**
 * Adds up outcomes. A runner that failed without a failed test (it did not compile, it crashed) counts as one failure. So the
 * numbers never look better than the exit code.
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
