// @ts-check
// Checks that every source begins with a comment that describes it.

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @param {Source} source @returns {Finding[]} */
export function checkHeader({ path, text, language }) {
  if (language === 'other') return []
  const lines = text.split('\n').filter((line) => !/^#!\/|^\/\/ @ts-check$|^$/.test(line))
  const isHeader = language === 'rust' ? /^\/\/!/ : /^(?:\/\*\*|\/\/)/
  if (isHeader.test(lines[0] ?? '')) return []
  const wanted = language === 'rust' ? 'a //! comment' : 'a comment'
  return [{ path, line: 1, message: `begins without ${wanted} that describes the file` }]
}
