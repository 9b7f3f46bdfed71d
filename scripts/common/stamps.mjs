// @ts-check
// Stamps: whether build output still matches its sources. A stamp is the hash of the contents of all inputs. It is taken before
// the build and written after it, so that an edit in between makes it stale. Paths are relative to the root, so a clone that is
// moved or copied is not built again.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at, root } from './root.mjs'

const FOLDER = at('target/stamps')

/**
 * @typedef {object} Built
 * @property {string} name
 * @property {readonly string[]} inputs files and folders, relative to the root
 * @property {readonly string[]} outputs files that must exist
 */

/**
 * Returns paths relative to `from`.
 * @param {string} from @param {string} path
 * @returns {string[]}
 */
function filesBelow(from, path) {
  const absolute = join(from, path)
  if (!existsSync(absolute)) return []
  if (!statSync(absolute).isDirectory()) return [path]
  return readdirSync(absolute)
    .toSorted()
    .flatMap((name) => filesBelow(from, `${path}/${name}`))
}

/** @param {Pick<Built, 'inputs'>} built @param {string} [from] the directory to which inputs are relative */
export function fingerprint({ inputs }, from = root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\n`)
  for (const file of inputs.flatMap((input) => filesBelow(from, input))) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(from, file)))
      .update('\0')
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
