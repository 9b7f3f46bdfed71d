// @ts-check
// Checks for language features that this project does not use: `any` and casts with the same effect, TypeScript syntax that is
// more than types, and `unsafe` outside of the files named for it.
import { UNSAFE_FILES } from './rules.mjs'
import { lineOf } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @type {readonly (readonly [RegExp, string])[]} */
const FORBIDDEN = [
  [/(?:[:<,|&(=]|\b(?:as|extends|keyof|readonly))\s*any\b(?!\s*[(.:])/g, 'type any: name the type, or use unknown'],
  [/\bas\s+unknown\s+as\b/g, 'as unknown as: prove the type instead'],
  [/^[ \t]*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+\w/gm, 'enum: use a union of literals'],
  [/^[ \t]*(?:export\s+)?(?:declare\s+)?(?:namespace|module)\s+[\w.'"]+\s*\{/gm, 'namespace: use modules'],
]

/** @param {Source} source @returns {Finding[]} */
export function checkLanguage(source) {
  if (source.language === 'rust') return checkUnsafe(source)
  return source.language === 'typescript' ? checkTypes(source) : []
}

/** @param {Source} source @returns {Finding[]} */
function checkTypes({ path, code }) {
  return FORBIDDEN.flatMap(([pattern, message]) =>
    [...code.matchAll(pattern)].map((match) => ({ path, line: lineOf(code, match.index), message })),
  )
}

/** @param {Source} source @returns {Finding[]} */
function checkUnsafe({ path, code, text }) {
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
