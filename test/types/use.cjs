// @ts-check
// Uses a cache with each engine; whoever loaded `varve`, by import or by require, passes it in.
const assert = require('node:assert')
const { join } = require('node:path')

/** @param {any} varve */
async function useCache(varve) {
  for (const engine of ['native', 'wasm']) {
    const options = { name: 'consumer', dir: join(__dirname, 'cache'), engine }
    const first = await varve.openCache(options)
    first.namespace('texts', { codec: 'text' }).put(engine, 'value')
    await first.commit()
    await first.close()
    const second = await varve.openCache(options)
    assert.equal(second.namespace('texts', { codec: 'text' }).get(engine), 'value')
    await second.close()
  }
}

module.exports = { useCache }
