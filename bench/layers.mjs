// @ts-check
// `node bench/layers.mjs [--mebibytes 1024] [--rounds 21]`: what opening a cache over a large layer costs beside opening one over nothing, on both
// engines. The goal is at most 5 ms more, and no copy. Openings take turns in one process; the layer has values of 64 KiB that do not
// compress.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openCache } from 'varve'
import { printProcessor } from './processor.mjs'
import { inTurn, mediansOf, readArguments } from './turns.mjs'

const { options } = readArguments({ mebibytes: 1024, rounds: 21 })
const VALUE_BYTES = 64 << 10
const COUNT = (options.mebibytes << 20) / VALUE_BYTES
const home = mkdtempSync(join(tmpdir(), 'varve-bench-layers-'))

/** @param {string} layer */
async function makeLayer(layer) {
  const cache = await openCache({ name: 'tool', dir: join(home, 'base'), maxBytes: 2 ** 40 })
  const space = cache.namespace('n')
  for (let index = 0; index < COUNT; index++) {
    space.put(`key ${index}`, randomBytes(VALUE_BYTES))
    if (index % 256 === 255) await cache.commit()
  }
  await cache.commit()
  const { bytes } = await cache.seal(layer)
  await cache.close()
  rmSync(join(home, 'base'), { recursive: true })
  return bytes
}

/** Bytes of all files below a directory. @param {string} folder */
function bytesIn(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}

/** Milliseconds of `openCache` and of the first lookup. @param {'native' | 'wasm'} engine @param {readonly string[]} layers */
async function open(engine, layers) {
  const startMs = performance.now()
  const cache = await openCache({ name: 'tool', dir: join(home, `cache-${engine}`), engine, layers })
  const openMs = performance.now() - startMs
  const found = cache.namespace('n').get('key 7')?.length ?? 0
  const getMs = performance.now() - startMs - openMs
  if (found !== (layers.length === 0 ? 0 : VALUE_BYTES)) throw new Error('the lookup is wrong')
  await cache.close()
  return { openMs, getMs }
}

try {
  const layer = join(home, 'layer')
  const layerBytes = await makeLayer(layer)
  printProcessor()
  console.log(`a layer of ${(layerBytes / 2 ** 30).toFixed(2)} GiB`)
  for (const engine of /** @type {const} */ (['native', 'wasm'])) {
    await open(engine, [])
    const found = await inTurn({ nothing: [], layer: [layer] }, options.rounds, (layers) => open(engine, layers))
    const [nothing, over] = [mediansOf(found.nothing), mediansOf(found.layer)]
    console.log(
      `${engine}: open ${nothing.openMs.toFixed(2)} ms over nothing, ${over.openMs.toFixed(2)} ms over the layer`,
    )
    console.log(
      `  ${(over.openMs - nothing.openMs).toFixed(2)} ms more (goal 5); first lookup ${over.getMs.toFixed(2)} ms`,
    )
  }
  console.log(`bytes written beside the layer: ${bytesIn(home) - bytesIn(layer)} (goal 0)`)
} finally {
  rmSync(home, { recursive: true, force: true })
}
