// @ts-check
// A loader that changes nothing.
/** @type {import('@rspack/core').LoaderDefinition} */
module.exports = function pass(code, map) {
  this.callback(null, code, map)
}
