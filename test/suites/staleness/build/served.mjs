// @ts-check
// What a development server or a run of tests made of the modules of a project.
import { createHash } from 'node:crypto'

/** @typedef {import('vite').EnvironmentModuleNode} Module */

/** Queries that differ between two servers: the time of an edit, and the state of the packages that Vite bundles. @param {string} text */
const withoutStamps = (text) =>
  text.replaceAll(/([?&])([tv])=[\da-f]+/g, '$1$2=0').replaceAll(/"timestamp":\d+/g, '"timestamp":0')

/** The fields of a map, sorted: plugins and the cache write them in an order of their own, which means nothing. @param {object | null} map */
const fieldsOf = (map) => JSON.stringify(map ?? {}, Object.keys(map ?? {}).sort())

/**
 * The digests of the code and the source map of modules, by environment and URL.
 * @param {Iterable<readonly [name: string, modules: Iterable<Module>]>} environments
 */
export function digestsOfModules(environments) {
  /** @type {Record<string, string[]>} */
  const found = {}
  for (const [name, modules] of environments) {
    for (const { url, transformResult } of modules) {
      if (transformResult === null) continue
      const { code, map } = transformResult
      const hash = createHash('sha256')
        .update(withoutStamps(code))
        .update(withoutStamps(fieldsOf(map)))
      const place = `${name} ${withoutStamps(url)}`
      // A project may import one file with two stamps of its own, in any order.
      found[place] = [...(found[place] ?? []), hash.digest('hex').slice(0, 16)].sort()
    }
  }
  return Object.fromEntries(Object.entries(found).map(([place, digests]) => [place, digests.join()]))
}
