/** The directory of the format in a cache directory; with a secret its name is longer. */
export const FORMAT_FOLDER = 'v1'

/** The name of that directory in a cache with a secret. */
export const SECRET_FOLDER: RegExp = /^v1-[0-9a-f]{16}$/

/** Names of files that may show that a directory is one of the format, if their start does (`hasVarveStart`). */
export const FORMAT_FILES: RegExp = /^(manifest-\d+|\d+\.log|\d+-\d+\.taken|\d+-\d+\.table)$/

/** Bytes that `hasVarveStart` needs. */
export const START_BYTES = 16

/** Kinds of the first frame of a file, and what a table begins with. */
const FRAMES = ['VLOG', 'VMAN']
const TABLE = 'varvetbl'
const FORMAT_TAG = '\u0001\0\0\0\0\0\0\0'

/** Whether the first bytes of a file show that Varve wrote it, as the engine reads them: one byte may differ (`file_start.rs`). */
export function hasVarveStart(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes.subarray(0, START_BYTES))
  if (differences(text, TABLE) <= 1) return true
  return FRAMES.some((kind) => differences(text, kind) + differences(text.slice(8), FORMAT_TAG) <= 1)
}

function differences(text: string, expected: string): number {
  return [...expected].filter((character, at) => text[at] !== character).length
}
