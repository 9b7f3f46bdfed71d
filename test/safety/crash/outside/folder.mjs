// @ts-check
// Folders of ours for recordings and states, in memory where the system has such a place.
import { accessSync, constants, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new, empty folder. */
export function newFolder() {
  return mkdtempSync(join(isUsable('/dev/shm') ? '/dev/shm' : tmpdir(), 'varve-outside-'))
}

/** @param {string} path */
function isUsable(path) {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** @param {string} root @param {ReadonlyMap<string, Buffer | null>} files by path, parents first; `null` is a folder */
export function place(root, files) {
  mkdirSync(root, { recursive: true })
  for (const [path, bytes] of files) {
    if (bytes === null) mkdirSync(join(root, path))
    else writeFileSync(join(root, path), bytes, { mode: 0o600 })
  }
}
