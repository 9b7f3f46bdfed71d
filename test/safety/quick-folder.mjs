// @ts-check
// Temporary folders, in memory if the system has a file system for that. The parts that use them make thousands of small
// caches and do not depend on a real disk.
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
