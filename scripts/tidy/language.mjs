// @ts-check
// Checks for language features that no other tool checks here: casts with the effect of `any`, and `unsafe` outside of the files
// named for it.
import { UNSAFE_FILES } from './rules.mjs'
import { lineOf } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @param {Source} source @returns {Finding[]} */
export function checkLanguage(source) {
  if (source.language === 'rust') return checkUnsafe(source)
  return source.language === 'typescript' ? checkTypes(source) : []
}

/** @param {Source} source @returns {Finding[]} */
function checkTypes({ path, code }) {
  const message = 'as unknown as: prove the type instead'
  return [...code.matchAll(/\bas\s+unknown\s+as\b/g)].map((match) => ({ path, line: lineOf(code, match.index), message }))
}

/** @param {Source} source @returns {Finding[]} */
function checkUnsafe({ path, code }) {
  if (UNSAFE_FILES.some((name) => (name.endsWith('*') ? path.startsWith(name.slice(0, -1)) : path === name))) return []
  const message = 'unsafe outside of the files named in scripts/tidy/rules.mjs'
  return [...code.matchAll(/\bunsafe\b/g)].map((match) => ({ path, line: lineOf(code, match.index), message }))
}
