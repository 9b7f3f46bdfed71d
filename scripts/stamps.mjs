// @ts-check
// Stamps: whether what was built still belongs to its sources. A stamp is the hash of the contents of all inputs,
// taken before the build and written after it, so that an edit in between makes it stale.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from './root.mjs'

const FOLDER = at('target/stamps')

/**
 * @typedef {object} Built
 * @property {string} name
 * @property {readonly string[]} inputs files and folders, relative to the root
 * @property {readonly string[]} outputs files that must exist
 */

/** @param {string} path @returns {string[]} */
function filesBelow(path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => filesBelow(join(path, name)))
}

/** @param {Built} built */
export function fingerprint({ inputs }) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\n`)
  for (const file of inputs.flatMap((input) => filesBelow(at(input)))) {
    hash.update(`${file}\0`).update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

/** @param {Built} built */
export function isCurrent(built) {
  const stamp = join(FOLDER, built.name)
  if (!built.outputs.every((output) => existsSync(at(output))) || !existsSync(stamp)) return false
  return readFileSync(stamp, 'utf8') === fingerprint(built)
}

/** @param {Built} built @param {string} digest */
export function writeStamp(built, digest) {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, built.name), digest)
}
