// @ts-check
// Compares node_modules with package-lock.json, using npm's own record of what it installed.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from './root.mjs'
import { npm } from './tools.mjs'

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [optional]
 * @property {boolean} [link]
 */
/** @typedef {Record<string, LockedPackage>} LockedPackages by directory; '' is the root */

/** @param {string} path @returns {LockedPackages | undefined} */
function readLock(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

/**
 * Returns the first directory that differs, if any. Optional packages may be missing: they belong to other platforms.
 * @param {LockedPackages} wanted
 * @param {LockedPackages} installed
 * @returns {string | undefined}
 */
export function firstDifference(wanted, installed) {
  const unwanted = Object.keys(installed).find((folder) => wanted[folder] === undefined)
  if (unwanted !== undefined) return unwanted
  return Object.keys(wanted).find((folder) => {
    const want = wanted[folder]
    const have = installed[folder]
    if (!folder.includes('node_modules/') || want === undefined) return false
    if (have === undefined) return !want.optional
    return want.version !== have.version || want.integrity !== have.integrity
  })
}

/** Whether a project has what its lock file names. @param {string} project relative to the root */
export function isInstalled(project = '.') {
  const wanted = readLock(at(join(project, 'package-lock.json')))
  const installed = readLock(at(join(project, 'node_modules/.package-lock.json')))
  if (wanted === undefined) throw new Error('package-lock.json is missing: restore it from the repository.')
  if (installed === undefined || firstDifference(wanted, installed) !== undefined) return false
  return Object.keys(installed).every((folder) => existsSync(at(join(project, folder))))
}

export const install = () => npm(['ci'])
