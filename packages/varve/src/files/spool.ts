/**
 * Streams go through a temporary file: the engine reads and writes archives on its own threads, which a slow network would
 * block.
 */
import type * as fs from 'node:fs'
import { builtin, randomBits } from '../host/builtin.ts'
import { toVarveError, VarveError } from '../errors.ts'
import { chunksOf, locked, taken } from '../json/streams.ts'

/** Bytes of an archive, from Node.js or the web. */
export type ByteSource = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>

/** Where an archive goes. */
export type ByteTarget = NodeJS.WritableStream | WritableStream<Uint8Array>

/** `node:fs`. Throws if the host has none: trees and archives need files. */
export function hostFiles(): typeof fs {
  const files = builtin('node:fs')
  if (files !== undefined) return files
  throw new VarveError('INVALID_OPTION', 'cache.files needs node:fs, which this host does not have; use Node.js')
}

/** Runs `use` with the path of a file that does not exist yet, in a folder for this process only, gone afterwards. */
export async function withSpool<T>(use: (path: string) => Promise<T>): Promise<T> {
  const files = hostFiles().promises
  const folder = await onDisk(files.mkdtemp(`${builtin('node:os')?.tmpdir() ?? '.'}/varve-`))
  try {
    return await use(`${folder}/archive`)
  } finally {
    await files.rm(folder, { recursive: true, force: true }).catch(() => {}) // it matters less than the outcome of the call
  }
}

/** Whether bytes can be read from a value. */
export function isSource(value: unknown): value is ByteSource {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || 'getReader' in value)
}

/** Whether bytes can be written to a value. */
export function isTarget(value: unknown): value is ByteTarget {
  return typeof value === 'object' && value !== null && ('getWriter' in value || ('write' in value && 'on' in value))
}

/** Writes a source to a new file. Rejects with IO if the source fails, and with CANCELLED also while it is silent. */
export async function spoolIn(source: ByteSource, path: string, signal: AbortSignal | undefined): Promise<void> {
  const file = await onDisk(hostFiles().promises.open(path, 'wx', 0o600))
  try {
    for await (const chunk of chunksOf(source, signal)) await onDisk(file.appendFile(chunk))
  } finally {
    await file.close()
  }
}

/** Writes a file to a target, which is ended. Rejects with IO if the target fails, and with CANCELLED also while it takes nothing. */
export async function spoolOut(path: string, target: ByteTarget, signal: AbortSignal | undefined): Promise<void> {
  const streams = builtin('node:stream')
  if (streams === undefined) throw new VarveError('INVALID_OPTION', 'this host has no node:stream')
  const source = hostFiles().createReadStream(path)
  try {
    const { Writable } = streams
    const writable =
      'getWriter' in target ? locked(() => Writable.fromWeb(target as Parameters<typeof Writable.fromWeb>[0])) : target
    await taken(streams.promises.pipeline(source, writable, signal === undefined ? {} : { signal }), signal)
  } finally {
    // Windows removes no open file.
    if (!source.destroy().closed) await new Promise((resolve) => source.once('close', () => resolve(undefined)))
  }
}

/** The outcome of a file operation, whose failure becomes a VarveError. */
export async function onDisk<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation
  } catch (error) {
    throw toVarveError(error)
  }
}

// A file that a caller names for output. It is written beside its place under another name and then renamed, so that it is complete or
// as it was before. A device, a pipe or a socket, such as `/dev/null` and `/dev/stdout`, takes the bytes and is never replaced.

/** Writes the file `path`: `write` gets the path to write to, and whether it creates a file there. */
export async function intoPlace<T>(path: string, write: (to: string, creates: boolean) => Promise<T>): Promise<T> {
  const files = hostFiles().promises
  const place = await onDisk(placeOf(path))
  if (place === undefined) return write(path, false)
  const random = randomBits()
  const temporary = `${builtin('node:path')?.dirname(place) ?? '.'}/.varve-${process.pid}-${random}.tmp`
  try {
    const written = await write(temporary, true)
    await onDisk(files.rename(temporary, place))
    return written
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => {}) // its directory may be gone
    throw error
  }
}

/** The path to rename to: that of the file that a link leads to, because links such as `/dev/stdout` belong to the system. Undefined: none. */
async function placeOf(path: string): Promise<string | undefined> {
  const files = hostFiles().promises
  const found = await files.stat(path).catch(() => undefined)
  if (found === undefined || found.isDirectory()) return path
  return found.isFile() ? files.realpath(path) : undefined
}
