// @ts-check
// Checks that functions are short, and that every source begins with a comment.
import { rustFunctions, typescriptFunctions } from './functions.mjs'
import { FUNCTION_LINES } from './rules.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @param {Source} source @returns {Finding[]} */
export function checkSize(source) {
  if (source.language === 'other') return []
  return [...checkFunctions(source), ...checkHeader(source)]
}

/** @param {Source} source */
const checkFunctions = (source) => (source.language === 'rust' ? checkRust(source) : checkTypeScript(source))

/** @param {Source} source @returns {Finding[]} */
function checkRust({ path, code }) {
  const isTest = /(?:^|\/)tests(?:\/|\.rs$)/.test(path)
  const limit = isTest ? FUNCTION_LINES.rustTest : FUNCTION_LINES.rust
  return rustFunctions(code).flatMap((span) => tooLong(path, span, span.end - span.start + 1, limit))
}

/**
 * The callbacks of describe and it are lists of cases, so their lines do not count.
 * @param {Source} source
 * @returns {Finding[]}
 */
function checkTypeScript({ path, code }) {
  const spans = typescriptFunctions(code)
  return spans.flatMap((span) => {
    if (span.isTest) return []
    const inside = spans.filter((other) => other.isTest && other.start > span.start && other.end < span.end)
    const outermost = inside.filter((a) => !inside.some((b) => b.start < a.start && a.end < b.end))
    const exempt = outermost.reduce((sum, other) => sum + other.end - other.start + 1, 0)
    return tooLong(path, span, span.end - span.start + 1 - exempt, FUNCTION_LINES.typescript)
  })
}

/** @param {string} path @param {import('./functions.mjs').Span} span @param {number} count @param {number} limit */
function tooLong(path, span, count, limit) {
  const message = `${span.name}: ${count} lines, the limit is ${limit}`
  return count > limit ? [{ path, line: span.start + 1, message }] : []
}

/** @param {Source} source @returns {Finding[]} */
function checkHeader({ path, text, language }) {
  const lines = text.split('\n').filter((line) => !/^#!\/|^\/\/ @ts-check$|^$/.test(line))
  const isHeader = language === 'rust' ? /^\/\/!/ : /^(?:\/\*\*|\/\/)/
  if (isHeader.test(lines[0] ?? '')) return []
  const wanted = language === 'rust' ? 'a //! comment' : 'a comment'
  return [{ path, line: 1, message: `begins without ${wanted} that describes the file` }]
}
