// @ts-check
// Wording that reads like a translation, counted per 1,000 words of comments, of pages, and of strings with at least four words:
// errors, output and names of tests. In their comments, lsm-tree, redb and leveldb have 0.0 of the first family, 0.1 of the second
// and 0.2 to 0.4 of the third.
//
//   node scripts/tidy/prose.mjs [--list <family>]
import { isMain, root } from '../common/root.mjs'
import { PROSE_MAX } from './rules.mjs'
import { lineOf, readSources } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */
/** @typedef {'comments' | 'pages' | 'strings'} Kind */

/** @type {ReadonlyMap<string, RegExp>} */
const FAMILIES = new Map([
  ['nobody', /\b(?:no|some|any)body\b|\bwhoever\b/gi],
  ['says', /\b(?:says?|said|tells?|told)\b/gi],
  ['where', /\bwhere (?:it|there|nothing|none|that|this|they|one)\b/gi],
  ['is no', /(?<!\bthere )\bis no (?!longer\b|such\b)/gi],
])
const WORD = /[a-z][a-z'-]*/gi
const COMMENT = { rust: /\/\/[^\n]*/g, typescript: /\/\*[^]*?\*\/|\/\/[^\n]*/g }

/** Blanks out a text. @param {string} text */
const blank = (text) => text.replace(/[^\n]/g, ' ')

/** Shorter strings are names and values. */
const SENTENCE_WORDS_MIN = 4
/** The inside of a string, which `code` has blanked out. */
const INSIDE = /(?<=["'`}])\s+(?=["'`]|\$\{)/g

/** The prose of a file by kind, every character in its position. @param {Source} source @returns {[Kind, string][]} */
function proseOf({ path, language, text, code }) {
  if (path.endsWith('.md')) return [['pages', text.replace(/^```[^]*?^```|`[^`\n]*`/gm, blank)]]
  if (language === 'other') return []
  const isComment = (/** @type {RegExpMatchArray} */ { 0: comment, index = 0 }) =>
    code.slice(index, index + comment.length).trim() === ''
  const comments = [...text.matchAll(COMMENT[language])]
    .filter(isComment)
    .map(({ 0: comment, index }) => [index, index + comment.length])
  const bare = without(text, comments)
  const strings = [...code.matchAll(INSIDE)].map(({ 0: inside, index }) => [index, index + inside.length])
  const sentences = strings.filter(
    ([start, end]) => (bare.slice(start, end).match(WORD)?.length ?? 0) >= SENTENCE_WORDS_MIN,
  )
  return [
    ['comments', only(text, comments)],
    ['strings', only(bare, sentences)],
  ]
}

/** Blanks out all but these ranges. @param {string} text @param {readonly (readonly number[])[]} ranges */
function only(text, ranges) {
  let [kept, last] = ['', 0]
  for (const [start = 0, end = 0] of ranges) {
    kept += blank(text.slice(last, start)) + text.slice(start, end)
    last = end
  }
  return kept + blank(text.slice(last))
}

/** Blanks out these ranges. @param {string} text @param {readonly (readonly number[])[]} ranges */
function without(text, ranges) {
  let [kept, last] = ['', 0]
  for (const [start = 0, end = 0] of ranges) {
    kept += text.slice(last, start) + blank(text.slice(start, end))
    last = end
  }
  return kept + text.slice(last)
}

/**
 * @param {readonly Source[]} sources
 * @returns {Map<Kind, { words: number, places: Map<string, Finding[]> }>}
 */
export function countProse(sources) {
  /** @type {ReturnType<typeof countProse>} */
  const counts = new Map()
  for (const source of sources) {
    for (const [kind, prose] of proseOf(source)) {
      const count = counts.get(kind) ?? {
        words: 0,
        places: new Map([...FAMILIES.keys()].map((family) => [family, []])),
      }
      counts.set(kind, count)
      count.words += prose.match(WORD)?.length ?? 0
      for (const [family, pattern] of FAMILIES) {
        for (const { 0: message, index } of prose.matchAll(pattern)) {
          count.places.get(family)?.push({ path: source.path, line: lineOf(prose, index), message })
        }
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
      return [
        {
          ...last,
          message: `${family}: ${rate.toFixed(2)} per 1,000 words of ${kind}, at most ${max}; see scripts/tidy/prose.mjs`,
        },
      ]
    }),
  )
}

if (isMain(import.meta)) {
  const [, , , wanted] = process.argv
  for (const [kind, { words, places }] of countProse(readSources(root))) {
    const rates = [...places].map(([family, found]) => `${family} ${((1000 * found.length) / words).toFixed(2)}`)
    process.stdout.write(`${kind}: ${words} words; per 1,000: ${rates.join(', ')}\n`)
    for (const { path, line, message } of places.get(wanted ?? '') ?? [])
      process.stdout.write(`${path}:${line}: ${message}\n`)
  }
}
