// @ts-check
// Checks that files and lines are short, and that every source begins with a comment. Functions are measured by clippy and oxlint.
import { LIMITS } from './rules.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @param {Source} source @returns {Finding[]} */
export function checkSize(source) {
  if (source.language === 'other') return []
  const { language } = source
  return [...checkFile(source, language), ...checkLines(source, language), ...checkHeader(source)]
}

/** @param {Source} source @param {'rust' | 'typescript'} language @returns {Finding[]} */
function checkFile({ path, text }, language) {
  const count = text.trimEnd().split('\n').length
  const limit = LIMITS[language].file
  return count > limit ? [{ path, line: limit + 1, message: `file of ${count} lines, the limit is ${limit}` }] : []
}

/** @param {Source} source @param {'rust' | 'typescript'} language @returns {Finding[]} */
function checkLines({ path, text }, language) {
  const limit = LIMITS[language].line
  return text.split('\n').flatMap((line, index) => {
    const length = [...line].length
    return length > limit ? [{ path, line: index + 1, message: `line of ${length} characters` }] : []
  })
}

/** @param {Source} source @returns {Finding[]} */
function checkHeader({ path, text, language }) {
  const lines = text.split('\n').filter((line) => !/^#!\/|^\/\/ @ts-check$|^$/.test(line))
  const isHeader = language === 'rust' ? /^\/\/!/ : /^(?:\/\*\*|\/\/)/
  if (isHeader.test(lines[0] ?? '')) return []
  const wanted = language === 'rust' ? 'a //! comment' : 'a comment'
  return [{ path, line: 1, message: `begins without ${wanted} that describes the file` }]
}
