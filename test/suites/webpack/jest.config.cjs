// @ts-check
// webpack's own configuration of jest, with Varve in the place of its filesystem cache unless VARVE_SUITES_CACHE is set to another one.
const { join } = require('node:path')

const rootDir = process.env.VARVE_SUITES_CHECKOUT ?? ''
const TRANSFORMED = '/test/BuildDependencies\\.longtest\\.js$'

const { prettierPath: _, ...config } = require(join(rootDir, 'jest.config.js'))

module.exports = {
  ...config,
  rootDir,
  prettierPath: null, // no inline snapshot is written
  transform: { [TRANSFORMED]: join(__dirname, 'without-log.cjs') },
  transformIgnorePatterns: [`^(?!.*${TRANSFORMED})`],
  moduleNameMapper: process.env.VARVE_SUITES_CACHE === 'varve' ? { '^\\./webpack$': join(__dirname, 'swap.cjs') } : {},
}
