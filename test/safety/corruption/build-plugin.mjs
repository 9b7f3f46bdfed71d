// @ts-check
// What the builds of Rollup's family and of esbuild share: a plugin that counts its work, and who said what.

/** What the plugin makes of a module. @param {string} code */
export const made = (code) => `${code}\nconsole.log(${code.length})\n`

/** A plugin of Rollup's family with work worth keeping. */
export function counted() {
  let runs = 0
  return {
    name: 'counted',
    version: '1',
    runs: () => runs,
    transform: {
      filter: { id: /\.js$/ },
      handler(/** @type {string} */ code) {
        runs++
        return { code: made(code), map: null }
      },
    },
  }
}

/** Takes apart what the cache says and what the tool says by itself. @param {readonly string[]} logged */
export function sorted(logged) {
  const isOurs = (/** @type {string} */ text) => text.includes('the cache ')
  return { told: logged.filter(isOurs), complaints: logged.filter((text) => !isOurs(text)) }
}
