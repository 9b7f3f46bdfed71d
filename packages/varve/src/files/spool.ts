/**
 * Streams go through a temporary file: the engine reads and writes archives on its own threads, which a slow network would
 * block.
 */
import type * as fs from 'node:fs'
import { builtin } from '../host/builtin.ts'
import { VarveError } from '../errors.ts'

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
  const files = hostFiles()
  const os = builtin('node:os')
  const folder = await files.promises.mkdtemp(`${os?.tmpdir() ?? '.'}/varve-`)
  try {
    return await use(`${folder}/archive`)
  } finally {
    await files.promises.rm(folder, { recursive: true, force: true })
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

/** Writes a source to a new file. Rejects with what the source rejects with, or CANCELLED. */
export async function spoolIn(source: ByteSource, path: string, signal: AbortSignal | undefined): Promise<void> {
  const chunks = Symbol.asyncIterator in source ? source : chunksOf(source)
  const file = await hostFiles().promises.open(path, 'wx', 0o600)
  try {
    for await (const chunk of chunks) {
      if (signal?.aborted === true) throw new VarveError('CANCELLED', 'stopped on request', { cause: signal.reason })
      await file.appendFile(chunk)
    }
  } finally {
    await file.close()
  }
}

/** Writes a file to a target, which is ended. */
export async function spoolOut(path: string, target: ByteTarget, signal: AbortSignal | undefined): Promise<void> {
  const streams = builtin('node:stream')
  if (streams === undefined) throw new VarveError('INVALID_OPTION', 'this host has no node:stream')
  const writable = 'getWriter' in target ? streams.Writable.fromWeb(target as Parameters<typeof streams.Writable.fromWeb>[0]) : target
  const source = hostFiles().createReadStream(path)
  await streams.promises.pipeline(source, writable, signal === undefined ? {} : { signal })
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    reader.releaseLock()
  }
}
