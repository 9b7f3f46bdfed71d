// @ts-check
// The declarations that a published package needs: those that its entry points import, directly or not. The compiler writes one for
// each source, most of which no program can import.
import { readFileSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const ENDING = '.d.ts'
const IMPORT = /(?:from|import\(|import)\s*['"](\.[^'"]+)['"]/g

/**
 * Removes the other declarations of a package.
 * @param {string} folder of the package as it is published
 * @returns {Promise<string[]>} the removed files, relative to the folder
 */
export async function removeUnreachable(folder) {
  /** @type {{ exports: Record<string, string | { types: string }> }} */
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  /** @type {Set<string>} */
  const reached = new Set()
  for (const point of Object.values(exports)) if (typeof point === 'object') addImports(join(folder, point.types), reached)
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(ENDING))
  const removed = files.filter((file) => !reached.has(join(folder, file)))
  for (const file of removed) rmSync(join(folder, file))
  return removed
}

/**
 * Adds a declaration and those that it imports. It fails if one is missing.
 * @param {string} file
 * @param {Set<string>} reached
 */
function addImports(file, reached) {
  if (reached.has(file)) return
  reached.add(file)
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    addImports(join(dirname(file), path.replace(/(?:\.d)?\.[jt]s$/, ENDING)), reached)
  }
}
