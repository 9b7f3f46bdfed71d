// @ts-check
// A cache directory in memory, while it is damaged: every file by its path below `v1`, or with a secret below `v1-<16 hex>`.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { quickFolder } from '../quick-folder.mjs'

/** @typedef {ReadonlyMap<string, Buffer>} Folder */

/** @param {string} dir @param {string} [home] @returns {Folder} */
export function readFolder(dir, home = 'v1') {
  const root = join(dir, home)
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((file) => relative(root, join(file.parentPath, file.name)).split(sep).join('/')).sort()
  return new Map(paths.map((path) => [path, readFileSync(join(root, path))]))
}

/** Puts the files of `folder` in place of whatever is at `dir`. @param {string} dir @param {Folder} folder @param {string} [home] */
export function writeFolder(dir, folder, home = 'v1') {
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(join(dir, home), { recursive: true, mode: 0o700 })
  for (const [path, bytes] of folder) {
    const place = join(dir, home, path)
    if (path.includes('/')) mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    writeFileSync(place, bytes, { mode: 0o600 })
  }
}

/** Calls `use` with a new folder and removes it afterwards. @template T @param {(folder: string) => Promise<T>} use @returns {Promise<T>} */
export async function withFolder(use) {
  const folder = quickFolder('damage')
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
