// @ts-check
// The version of an installed rival.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param {string} name @returns {string} */
export function versionOf(name) {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'node_modules', name, 'package.json'), 'utf8')).version
}
