// @ts-check
// A vitest reporter that prints nothing and writes how many tests passed and failed to the file named by VARVE_COUNTS.
// (vitest's own JSON reporter would print a line after the closing lines of the run.)
import { writeFileSync } from 'node:fs'

export default class Counts {
  /**
   * A file that could not be loaded counts as one failure, as does an error outside of all tests.
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
