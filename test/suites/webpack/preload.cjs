// @ts-check
// Puts `swap.cjs` in the place of webpack in the processes that a test starts; jest.config.cjs does it in the tests.
const Module = require('node:module')
const { join } = require('node:path')

const index = join(process.env.VARVE_SUITES_CHECKOUT ?? '', 'lib/index.js')
const resolve = Reflect.get(Module, '_resolveFilename')

/** @param {string} request @param {{ filename?: string } | undefined} parent @param {...unknown} rest */
function resolveFilename(request, parent, ...rest) {
  if (request === './webpack' && parent?.filename === index) return join(__dirname, 'swap.cjs')
  return Reflect.apply(resolve, Module, [request, parent, ...rest])
}

Reflect.set(Module, '_resolveFilename', resolveFilename)
