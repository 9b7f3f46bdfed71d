// @ts-check
// What a build came to, as these programs print it for the runner.
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'

/**
 * @typedef {object} Outcome
 * @property {Readonly<Record<string, string>>} files digests of what was emitted
 * @property {readonly string[]} errors
 * @property {readonly string[]} warnings
 * @property {number} hits what a cache answered
 */

/** The line of stdout that has the outcome begins so: plugins print as well. */
export const MARK = '@@outcome '

/** @param {Outcome} outcome */
export const print = (outcome) => void process.stdout.write(`\n${MARK}${JSON.stringify(outcome)}\n`)

/**
 * @param {string} folder
 * @returns {Record<string, string>}
 */
export function digestsOf(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
  const digest = (/** @type {string} */ name) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
      .slice(0, 16)
  return Object.fromEntries(names.sort().map((name) => [name.split(sep).join('/'), digest(name)]))
}

/**
 * The texts of all files below some folders of the working directory. That of a link says where it leads.
 * @param {readonly string[]} folders
 * @returns {Record<string, string>}
 */
export function textsOf(folders) {
  const files = folders
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
  const nameOf = (/** @type {string} */ file) => file.split(sep).join('/')
  return Object.fromEntries(
    files.sort().flatMap((file) => {
      const found = lstatSync(file)
      if (found.isSymbolicLink()) return [[nameOf(file), `link to ${readlinkSync(file)}`]]
      return found.isFile() ? [[nameOf(file), readFileSync(file, 'utf8')]] : []
    }),
  )
}

/** The first line of an error, also of one that another thread sent as a plain object. @param {unknown} error */
export function messageOf(error) {
  const isObject = typeof error === 'object' && error !== null && 'message' in error
  return String(isObject ? error.message : error).split('\n', 1)[0] ?? ''
}
