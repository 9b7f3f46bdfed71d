// @ts-check
// Proves that the build for users has no planted faults: a build with the feature `planted` contains words that a normal build
// does not.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { at } from '../common/root.mjs'

/** The variable that names a fault, and the message of its panic, from crates/core/src/platform/failpoints/chosen.rs. */
const WORDS = ['VARVE_PLANTED', 'planted panic']

/**
 * Returns the files of a built package that contain such words, among the engines as JavaScript loads them.
 * @param {string} folder
 */
export async function plantedFiles(folder) {
  const found = []
  for (const part of ['native', 'generated']) {
    for (const name of await readdir(join(folder, part))) {
      if (/\.(?:node|js)$/.test(name) && (await hasWords(join(folder, part, name)))) found.push(name)
    }
  }
  return found
}

/** @param {string} file */
async function hasWords(file) {
  const bytes = await readFile(file)
  // The WebAssembly module is in its file as base64.
  const module = /`([A-Za-z0-9+/=\n]{1000,})`/.exec(bytes.toString('latin1'))?.[1]
  const all = module === undefined ? bytes : Buffer.concat([bytes, Buffer.from(module, 'base64')])
  return WORDS.some((word) => all.includes(word))
}

export async function checkUnplanted() {
  const source = await readFile(at('crates/core/src/platform/failpoints/chosen.rs'), 'utf8')
  const missing = WORDS.filter((word) => !source.includes(word))
  if (missing.length > 0)
    throw new Error(`this check would find nothing: chosen.rs no longer contains ${missing.join(', ')}`)
  const found = await plantedFiles(at('packages/varve'))
  if (found.length > 0) throw new Error(`built with the feature 'planted': ${found.join(', ')}; run npm run build`)
}
