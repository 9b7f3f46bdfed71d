// @ts-check
// One digest for what a build has written, to compare it with that of another build.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The digest of all files below a folder, and of their names. @param {string} folder */
export function digestOf(folder) {
  const hash = createHash('sha256')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((file) => join(file.parentPath, file.name)).sort()
  for (const path of paths) hash.update(`\n${path.slice(folder.length)}\n`).update(readFileSync(path))
  return hash.digest('hex')
}
