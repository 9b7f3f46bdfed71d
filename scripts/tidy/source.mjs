// @ts-check
// The files that tidy checks, each read once.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { SKIPPED_FOLDERS } from './rules.mjs'

/** @typedef {'rust' | 'typescript' | 'other'} Language */
/**
 * @typedef {object} Source
 * @property {string} path relative to the root, with slashes
 * @property {Language} language
 * @property {string} text
 * @property {string} code of Rust, the text with comments and strings blanked out; otherwise the text
 */
/** @typedef {{ path: string, line: number, message: string }} Finding lines from 1 */

const TEXT = /\.(?:rs|[cm]?[jt]s|json|toml|md|ya?ml|html|css)$|^(?:\.editorconfig|\.gitignore|\.npmrc|run|LICENSE)$/

/** @param {string} path @returns {Language} */
function languageOf(path) {
  if (path.endsWith('.rs')) return 'rust'
  return /\.(?:ts|mts|cts|mjs)$/.test(path) ? 'typescript' : 'other'
}

/** @param {string} root @returns {Source[]} */
export function readSources(root) {
  return filesBelow(root).map((file) => {
    const path = relative(root, file).split(sep).join('/')
    const text = readFileSync(file, 'utf8')
    const language = languageOf(path)
    return { path, language, text, code: language === 'rust' ? maskRust(text) : text }
  })
}

/** @param {string} folder @returns {string[]} */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : filesBelow(path)
    return entry.isFile() && TEXT.test(entry.name) ? [path] : []
  })
}

/** The line of a position, from 1. @param {string} text @param {number} index */
export const lineOf = (text, index) => text.slice(0, index).split('\n').length

/** @param {string} text */
const blank = (text) => text.replace(/[^\n]/g, ' ')

/** Blanks out a string, but keeps its quotes. @param {string} text */
const blankInside = (text) => (text.length < 2 ? text : text[0] + blank(text.slice(1, -1)) + text.at(-1))

const RUST_TOKEN = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*)`,
    String.raw`(?<block>\/\*)`,
    String.raw`(?<raw>\b(?:br|cr|r)(?<hashes>#*)"[^]*?"\k<hashes>)`,
    String.raw`(?<string>"(?:\\[^]|[^"\\])*")`,
    String.raw`(?<char>'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])')`,
  ].join('|'),
  'g',
)

/**
 * Blanks out comments and the contents of strings of Rust. Every other character keeps its position. A lifetime ('a) stays unchanged,
 * since no quote closes it.
 * @param {string} source
 */
export function maskRust(source) {
  let masked = ''
  let index = 0
  RUST_TOKEN.lastIndex = 0
  for (let match = RUST_TOKEN.exec(source); match !== null; match = RUST_TOKEN.exec(source)) {
    const end = match.groups?.block === undefined ? RUST_TOKEN.lastIndex : endOfNestedComment(source, match.index)
    const text = source.slice(match.index, end)
    const isComment = match.groups?.block !== undefined || match.groups?.comment !== undefined
    masked += source.slice(index, match.index) + (isComment ? blank(text) : blankInside(text))
    index = end
    RUST_TOKEN.lastIndex = end
  }
  return masked + source.slice(index)
}

/** The end of a block comment, which nest in Rust. @param {string} source @param {number} start */
function endOfNestedComment(source, start) {
  const token = /\/\*|\*\//g
  token.lastIndex = start
  let depth = 0
  for (let match = token.exec(source); match !== null; match = token.exec(source)) {
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return token.lastIndex
  }
  return source.length
}
