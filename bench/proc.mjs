// @ts-check
// Numbers of a process that Linux has in /proc.
import { readFileSync } from 'node:fs'

/** A number of a file in /proc, NaN if it has none. @param {string} path @param {string} name */
export function readNumber(path, name) {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(readFileSync(path, 'latin1'))?.[1])
}
