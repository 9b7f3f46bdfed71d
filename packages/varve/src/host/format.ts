/** Names that the format gives: files and directories of a cache, and the namespaces of a task. Also whether Varve wrote a file. */
import type * as fs from 'node:fs'

/** The directory of the format in a cache directory; with a secret its name is longer. */
export const FORMAT_FOLDER = 'v1'

/** The name of that directory in a cache with a secret. */
export const SECRET_FOLDER: RegExp = /^v1-[0-9a-f]{16}$/

/** Names of files that may show that a directory is one of the format, if their start does (`hasVarveStart`). */
export const FORMAT_FILES: RegExp = /^(manifest-\d+|\d+\.log|\d+-\d+\.taken|\d+-\d+\.table)$/

/** Bytes that `hasVarveStart` needs. */
const START_BYTES = 16

/** Kinds of the first frame of a file, and what a table begins with. */
const FRAMES = ['VLOG', 'VMAN']
const TABLE = 'varvetbl'
const FORMAT_TAG = '\u0001\0\0\0\0\0\0\0'

/** Whether the first bytes of a file show that Varve wrote it, as the engine reads them: one byte may differ (`file_start.rs`). */
function hasVarveStart(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes.subarray(0, START_BYTES))
  if (differences(text, TABLE) <= 1) return true
  return FRAMES.some((kind) => differences(text, kind) + differences(text.slice(8), FORMAT_TAG) <= 1)
}

/** Whether Varve wrote a file. False if it is missing, not a regular file, or cannot be read. */
export function isOfVarve(files: typeof fs, path: string): boolean {
  try {
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = files.constants
    const file = files.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const start = new Uint8Array(START_BYTES)
      return files.fstatSync(file).isFile() && hasVarveStart(start.subarray(0, files.readSync(file, start)))
    } finally {
      files.closeSync(file)
    }
  } catch {
    return false
  }
}

function differences(text: string, expected: string): number {
  return [...expected].filter((character, at) => text[at] !== character).length
}

// The namespaces of a task. Their entries count as those of one group wherever Varve reports what a cache is about.

/** The records of results: what they depend on, by id. */
export const RECORDS_PREFIX = 'task:'
/** The results. */
export const RESULTS_PREFIX = 'result:'
/** What the work of the task has read. */
export const READS_PREFIX = 'reads:'

/** The beginning of the name of an input that is an installed package. */
export const PACKAGE_INPUT = 'package '

/** The group of a namespace: `task:<name>` for those of a task, otherwise the namespace itself. */
export function groupOf(namespace: string): string {
  const prefix = [RESULTS_PREFIX, READS_PREFIX].find((each) => namespace.startsWith(each))
  return prefix === undefined ? namespace : `${RECORDS_PREFIX}${namespace.slice(prefix.length)}`
}
