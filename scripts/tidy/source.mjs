// @ts-check
// The files that tidy checks, each read once.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { maskRust, maskTypeScript } from './mask.mjs'
import { SKIPPED_FOLDERS } from './rules.mjs'

/** @typedef {'rust' | 'typescript' | 'other'} Language */
/**
 * @typedef {object} Source
 * @property {string} path relative to the root, with slashes
 * @property {Language} language
 * @property {string} text
 * @property {string} code the text with comments and strings blanked out
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
    const code = language === 'rust' ? maskRust(text) : language === 'typescript' ? maskTypeScript(text) : text
    return { path, language, text, code }
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
