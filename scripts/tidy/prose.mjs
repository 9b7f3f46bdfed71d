// @ts-check
// Wording that reads like a translation, counted per 1,000 words of comments and of pages. lsm-tree, redb and leveldb,
// counted in the same way, have 0.0 of the first family, 0.1 of the second and 0.2 to 0.4 of the third.
//
//   node scripts/tidy/prose.mjs [--list <family>]
import { isMain, root } from '../root.mjs'
import { PROSE_MAX } from './rules.mjs'
import { lineOf, readSources } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */
/** @typedef {'comments' | 'pages'} Kind */

/** @type {ReadonlyMap<string, RegExp>} */
const FAMILIES = new Map([
  ['nobody', /\b(?:no|some|any)body\b|\bwhoever\b/gi],
  ['says', /\b(?:says?|said|tells?|told)\b/gi],
  ['where', /\bwhere (?:it|there|nothing|none|that|this|they|one)\b/gi],
])
const WORD = /[a-z][a-z'-]*/gi
const COMMENT = { rust: /\/\/[^\n]*/g, typescript: /\/\*[^]*?\*\/|\/\/[^\n]*/g }

/** Blanks out a text. @param {string} text */
const blank = (text) => text.replace(/[^\n]/g, ' ')

/** The prose of a file, every character in its position; undefined for files without prose. @param {Source} source */
function proseOf({ path, language, text, code }) {
  if (path.endsWith('.md')) return text.replace(/^```[^]*?^```|`[^`\n]*`/gm, blank)
  if (language === 'other') return undefined
  let prose = ''
  let end = 0
  for (const { 0: comment, index } of text.matchAll(COMMENT[language])) {
    if (code.slice(index, index + comment.length).trim() !== '') continue // inside a string
    prose += blank(text.slice(end, index)) + comment
    end = index + comment.length
  }
  return prose + blank(text.slice(end))
}

/**
 * @param {readonly Source[]} sources
 * @returns {Map<Kind, { words: number, places: Map<string, Finding[]> }>}
 */
export function countProse(sources) {
  /** @type {ReturnType<typeof countProse>} */
  const counts = new Map()
  for (const source of sources) {
    const prose = proseOf(source)
    if (prose === undefined) continue
    const kind = source.path.endsWith('.md') ? 'pages' : 'comments'
    const count = counts.get(kind) ?? { words: 0, places: new Map([...FAMILIES.keys()].map((family) => [family, []])) }
    counts.set(kind, count)
    count.words += prose.match(WORD)?.length ?? 0
    for (const [family, pattern] of FAMILIES) {
      for (const { 0: message, index } of prose.matchAll(pattern)) {
        count.places.get(family)?.push({ path: source.path, line: lineOf(prose, index), message })
      }
    }
  }
  return counts
}

/** Checks that no family exceeds its limit. @param {readonly Source[]} sources @returns {Finding[]} */
export function checkProse(sources) {
  return [...countProse(sources)].flatMap(([kind, { words, places }]) =>
    [...places].flatMap(([family, found]) => {
      const [rate, max] = [(1000 * found.length) / words, PROSE_MAX[kind][family] ?? 0]
      const last = found.at(-1)
      if (rate <= max || last === undefined) return []
      return [{ ...last, message: `${family}: ${rate.toFixed(2)} per 1,000 words of ${kind}, at most ${max}; see scripts/tidy/prose.mjs` }]
    }),
  )
}

if (isMain(import.meta)) {
  const [, , , wanted] = process.argv
  for (const [kind, { words, places }] of countProse(readSources(root))) {
    const rates = [...places].map(([family, found]) => `${family} ${((1000 * found.length) / words).toFixed(2)}`)
    process.stdout.write(`${kind}: ${words} words; per 1,000: ${rates.join(', ')}\n`)
    for (const { path, line, message } of places.get(wanted ?? '') ?? []) process.stdout.write(`${path}:${line}: ${message}\n`)
  }
}
