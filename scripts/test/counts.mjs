// @ts-check
// A vitest reporter that prints nothing, and writes the number of passed and failed tests to the file named by VARVE_COUNTS.
// (vitest's own JSON reporter would print a line after the closing lines of the run.)
import { writeFileSync } from 'node:fs'

export default class Counts {
  /**
   * A file that cannot be loaded counts as one failure, and so does an error outside of all tests.
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly unknown[]} errors
   */
  onTestRunEnd(modules, errors) {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
    const passed = states.filter((state) => state === 'passed').length
    const notLoaded = modules.filter((module) => module.errors().length > 0).length
    const failed = states.filter((state) => state === 'failed').length + notLoaded + errors.length
    const path = process.env.VARVE_COUNTS
    if (path !== undefined) writeFileSync(path, JSON.stringify({ passed, failed }))
  }
}
