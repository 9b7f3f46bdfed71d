// @ts-check
// Checks that `unsafe` is only in the files named for it, each time with a SAFETY comment.
import { UNSAFE_FILES } from './rules.mjs'
import { lineOf } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @param {Source} source @returns {Finding[]} */
export function checkUnsafe({ path, code, text, language }) {
  if (language !== 'rust') return []
  const lines = text.split('\n')
  const isNamed = UNSAFE_FILES.some((name) => (name.endsWith('*') ? path.startsWith(name.slice(0, -1)) : path === name))
  return [...code.matchAll(/\bunsafe\b/g)].flatMap((match) => {
    const line = lineOf(code, match.index)
    if (!isNamed) return [{ path, line, message: 'unsafe outside of the files named in scripts/tidy/rules.mjs' }]
    return isArgued(lines, line - 1) ? [] : [{ path, line, message: 'unsafe without a SAFETY comment above it' }]
  })
}

/**
 * Whether a SAFETY comment is on this line, or in the comments and the statement above.
 * @param {string[]} lines
 * @param {number} line
 */
function isArgued(lines, line) {
  for (let index = line; index >= 0 && index > line - 12; index--) {
    const text = (lines[index] ?? '').trim()
    if (/SAFETY:|# Safety/.test(text)) return true
    const isEnd = text === '' || (!text.startsWith('//') && /[;}]$/.test(text))
    if (index < line && isEnd) return false
  }
  return false
}
