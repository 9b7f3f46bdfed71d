// @ts-check
// Puts hostile folders on the disk.
import { closeSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeFolder } from './folder.mjs'
import { HOSTILE } from './hostile.mjs'

/** @param {string} name */
function hostile(name) {
  const make = HOSTILE[name]
  if (make === undefined) throw new Error(`no hostile folder '${name}'`)
  return make()
}

/** The bytes of its files, holes not counted. @param {string} name */
export const hostileBytes = (name) => Object.values(hostile(name).files).reduce((sum, bytes) => sum + bytes.length, 0)

/** Writes a hostile folder. @param {string} dir @param {string} name */
export function writeHostile(dir, name) {
  const { files, sparse = {} } = hostile(name)
  writeFolder(dir, new Map(Object.entries(files)))
  for (const [path, { bytes, tail }] of Object.entries(sparse)) {
    mkdirSync(dirname(join(dir, 'v1', path)), { recursive: true })
    const file = openSync(join(dir, 'v1', path), 'w')
    ftruncateSync(file, bytes)
    writeSync(file, tail, 0, tail.length, bytes - tail.length)
    closeSync(file)
  }
}
