/**
 * The host as plugins of Varve use it themselves: what they read is no read of the work that they record. Code of a tool that Varve calls reads
 * by functions of its own, so it is told apart where it is called.
 */
import fs from 'node:fs'
import { ownEnv, ownFiles } from 'varve/internal'
import { unrecorded } from 'varve/reads'

export const disk: typeof fs = ownFiles(fs)

/** The environment now. */
export function environment(): NodeJS.ProcessEnv {
  return ownEnv()
}

/** Runs code of the tool or of Node.js, and what it begins: none of it is work that is recorded. */
export function runForeign<T>(work: () => T): T {
  return unrecorded(work)
}
