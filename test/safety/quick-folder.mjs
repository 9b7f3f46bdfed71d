// @ts-check
// Folders of ours, in memory where the system has such a place: thousands of small caches are made in them, and none of
// the parts that use them is about what a disk does.
import { accessSync, constants, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new, empty folder. @param {string} name a part of its name */
export const quickFolder = (name) => mkdtempSync(join(quickest(), `varve-${name}-`))

function quickest() {
  try {
    accessSync('/dev/shm', constants.W_OK | constants.X_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}
