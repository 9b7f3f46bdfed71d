// @ts-check
// Makes a cache as a build tool leaves it: a task with modules of a project and of packages, a namespace, and the history of
// several builds. The pictures and the tests of `varve view` show it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'

const PACKAGES = ['react-dom', 'lodash-es', '@babel/runtime', 'rxjs', 'date-fns', 'three']
const FOLDERS = ['src/components', 'src/pages', 'src/store', 'packages/ui', 'packages/api']

/** The ids of the modules, with the lengths of their results. @returns {[id: string, bytes: number][]} */
function modules() {
  const folders = [...PACKAGES.map((name) => `node_modules/${name}/dist`), ...FOLDERS]
  return folders.flatMap((folder, place) =>
    Array.from({ length: 4 + 3 * place }, (_, index) => {
      return /** @type {[string, number]} */ ([
        `${folder}/part-${index}.js`,
        400 * (1 + ((place * 7 + index * 5) % 23)),
      ])
    }),
  )
}

/**
 * Builds the project several times; each build but the first changes a few files.
 * @param {string} folder of the project
 * @param {{ builds?: number, engine?: 'native' | 'wasm', hostile?: string }} [options] `hostile`: one more id and namespace of this name
 * @returns {Promise<string>} the directory of the cache
 */
export async function makeCache(folder, { builds = 12, engine = 'native', hostile } = {}) {
  const dir = join(folder, 'node_modules/.cache/varve/bundler')
  writeFileSync(join(folder, 'package.json'), '{}')
  for (const [id] of modules()) writeFile(folder, id, `// ${id}`)
  for (let build = 0; build < builds; build++) {
    if (build > 0)
      for (const [id] of modules().slice(build * 3, build * 5)) writeFile(folder, id, `// ${id}, version ${build}`)
    const cache = await openCache({ name: 'bundler', dir, engine })
    const task = cache.task('transform', { root: folder, codec: 'text', version: '1' })
    for (const [id, bytes] of modules()) {
      const mode = build < builds - 1 && id.includes('pages') ? 'development' : 'production'
      await task.run({ id, inputs: { mode }, files: [id] }, () => work(bytes))
    }
    if (hostile !== undefined) {
      await task.run({ id: hostile, inputs: { build } }, () => 'x')
      cache.namespace(hostile, { codec: 'text' }).put(hostile, hostile)
    }
    cache.namespace('resolve', { codec: 'json' }).put(`request ${build}`, { path: 'src/index.js', tried: ['a', 'b'] })
    await cache.close()
  }
  return dir
}

/** @param {string} folder @param {string} path @param {string} text */
function writeFile(folder, path, text) {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** A result that takes time. @param {number} bytes */
function work(bytes) {
  const endMs = performance.now() + bytes / 4000
  while (performance.now() < endMs) continue
  return 'x'.repeat(bytes)
}
