// @ts-check
// Uses a cache with each engine; whoever loaded `varve`, by import or by require, passes it in.
const assert = require('node:assert')
const { readFileSync, rmSync } = require('node:fs')
const { join } = require('node:path')

/** @param {any} varve */
async function useCache(varve) {
  rmSync(join(__dirname, 'cache'), { recursive: true, force: true })
  for (const engine of ['native', 'wasm']) {
    const options = { name: 'consumer', dir: join(__dirname, 'cache'), engine }
    const first = await varve.openCache(options)
    first.namespace('texts', { codec: 'text' }).put(engine, 'value')
    await first.commit()
    await first.close()
    const second = await varve.openCache(options)
    assert.equal(second.namespace('texts', { codec: 'text' }).get(engine), 'value')
    await second.close()
    await useTask(varve, engine, options)
  }
}

/**
 * A recorded task hits, although the program has loaded the addon before.
 * @param {any} varve
 * @param {string} id
 * @param {object} options
 */
async function useTask(varve, id, options) {
  for (const hits of [0, 1]) {
    const cache = await varve.openCache(options)
    const task = cache.task('recorded', { codec: 'text', trackReads: true })
    assert.equal(await task.run({ id }, () => readFileSync(join(__dirname, 'package.json'), 'utf8').slice(0, 1)), '{')
    assert.equal(task.stats().hits, hits)
    await cache.close()
  }
}

module.exports = { useCache }
