// @ts-check
// What the builds of Rollup's family and of esbuild share: a plugin that counts its work, and the origin of each message.

/** The plugin's result for a module. @param {string} code */
export const made = (code) => `${code}\nconsole.log(${code.length})\n`

/** A plugin for Rollup and Vite whose work is worth caching. */
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

/** Separates the messages of the cache from those of the tool. @param {readonly string[]} logged */
export function sorted(logged) {
  const isOurs = (/** @type {string} */ text) => text.includes('the cache ')
  return { reports: logged.filter(isOurs), complaints: logged.filter((text) => !isOurs(text)) }
}
