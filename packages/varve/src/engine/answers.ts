/**
 * Answers of both engines: JSON, which is `{"ok": <report>}`, or `{"code", "message"}` if the call failed; or packed bytes, for what
 * commits and lookups return. Long calls of WebAssembly also report progress until they answer.
 */
import type {
  EngineChunk,
  EngineCommit,
  EngineError,
  EngineFolders,
  EngineKeys,
  EnginePage,
  EngineSums,
  EngineValues,
  EngineControl,
} from './engine.ts'
import { runningMs } from '../host/own.ts'

/** Captured early, because programs replace it. */
const { parse } = JSON

export class EngineFailure extends Error implements EngineError {
  override name: string = 'EngineFailure'
  readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** A chunk of an export before it is taken: represented by its length. */
export type ChunkReport = Omit<EngineChunk, 'chunk'> & { readonly bytes: number }

/** The report of an answer. Throws if the answer is a failure. */
export function reportOf<Report>(answer: string): Report {
  const parsed: { ok: Report } | { code: string; message: string } = parse(answer)
  if ('ok' in parsed) return parsed.ok
  throw new EngineFailure(parsed.code, parsed.message)
}

// Packed answers, as `crates/bindings/src/packed.rs` makes them; numbers are little-endian.
//
// ```text
// values: length: i32 * count | values                -1 = miss
// page:   next: u64 | more: u32 | count: u32 | key bytes: u32 | value bytes: u32
//         | key end: u32 * count | value end: u32 * count | keys | values
// commit: entries: f64 | bytes: f64 | batch bytes: f64 | damage count: u32 | maintenance due: u32
// ```
// A page of keys has no values, and the length of each in place of its end. A page of folders has two f64 as each value: the number of its
// entries, and their bytes.

const PAGE_HEAD_BYTES = 24

/** For pages with the entries of all folders. */
export const ALL_FOLDERS: EngineFolders = { keys: new Uint8Array(0), keyEnds: new Uint32Array(0) }

/** The answer of getMany for `count` keys. */
export function valuesOf(bytes: Uint8Array, count: number): EngineValues {
  const view = viewOf(bytes)
  const lengths = new Int32Array(count)
  for (let index = 0; index < count; index++) lengths[index] = view.getInt32(index * 4, true)
  return { values: bytes.subarray(count * 4), lengths }
}

/** The answer of scan. */
export function pageOf(bytes: Uint8Array): EnginePage {
  const view = viewOf(bytes)
  const next = view.getUint32(8, true) === 1 ? view.getBigUint64(0, true) : undefined
  const count = view.getUint32(12, true)
  const keysStart = PAGE_HEAD_BYTES + 8 * count
  const valuesStart = keysStart + view.getUint32(16, true)
  const ends = (start: number): Uint32Array => {
    const found = new Uint32Array(count)
    for (let index = 0; index < count; index++) found[index] = view.getUint32(start + index * 4, true)
    return found
  }
  return {
    keys: bytes.subarray(keysStart, valuesStart),
    keyEnds: ends(PAGE_HEAD_BYTES),
    values: bytes.subarray(valuesStart),
    valueEnds: ends(PAGE_HEAD_BYTES + 4 * count),
    next,
  }
}

/** The answer of scanKeys. */
export function keysOf(bytes: Uint8Array): EngineKeys {
  const { keys, keyEnds, valueEnds: valueBytes, next } = pageOf(bytes)
  return { keys, keyEnds, valueBytes, next }
}

/** The answer of scanFolders. */
export function sumsOf(bytes: Uint8Array): EngineSums {
  const { keys, keyEnds, values, next } = pageOf(bytes)
  const view = viewOf(values)
  const numbers = (start: number): Float64Array =>
    Float64Array.from(keyEnds, (_, index) => view.getFloat64(16 * index + start, true))
  return { keys, keyEnds, next, entries: numbers(0), bytes: numbers(8) }
}

/** The report of a commit, at the start of `view`. */
export function commitOf(view: DataView): EngineCommit {
  const report = {
    entries: view.getFloat64(0, true),
    bytes: view.getFloat64(8, true),
    maintenanceDue: view.getUint32(28, true) === 1,
  }
  return { report, batchBytes: view.getFloat64(16, true), damageCount: view.getUint32(24, true) }
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

// Progress and cancellation of long calls of the WebAssembly engine: calls into the module, and loops of this thread in slices.

/** Milliseconds between two reports of progress. */
const PROGRESS_MS = 50

/** Reports progress, and stops when the signal is aborted. */
export function watcherOf({ signal, onProgress }: EngineControl): { report(done: number, total: number): boolean } {
  if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request before it began')
  let reportedMs = 0
  return {
    report(done, total) {
      const now = runningMs()
      if (onProgress !== undefined && now - reportedMs >= PROGRESS_MS) {
        reportedMs = now
        onProgress(done, total)
      }
      return signal?.aborted !== true
    },
  }
}

/** The long calls of one store. Until such a call ends, the module cannot answer others, which a listener of its progress may make. */
export class LongCalls {
  /** Whether a listener runs now. */
  isReporting = false

  /** Throws BUSY inside of a listener. */
  check(): void {
    if (!this.isReporting) return
    throw new EngineFailure(
      'BUSY',
      'WebAssembly runs a call that reports its progress; use this cache after onProgress has returned',
    )
  }

  watcherOf({ signal, onProgress }: EngineControl): ReturnType<typeof watcherOf> {
    const report = (done: number, total: number): void => {
      this.isReporting = true
      try {
        onProgress?.(done, total)
      } finally {
        this.isReporting = false
      }
    }
    return watcherOf({ signal, onProgress: onProgress === undefined ? undefined : report })
  }
}

/** Milliseconds of one slice. */
const SLICE_MS = 20

/** Calls `work` for each item, in order. Reports progress in items, and rejects with CANCELLED once the signal is aborted. */
export async function inSlices<T>(items: readonly T[], control: EngineControl, work: (item: T) => void): Promise<void> {
  const { signal, onProgress } = control
  onProgress?.(0, items.length)
  let sliceMs = runningMs()
  let toldMs = sliceMs
  for (const [index, item] of items.entries()) {
    if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request', { cause: signal.reason })
    work(item)
    const now = runningMs()
    if (now - sliceMs < SLICE_MS) continue
    if (now - toldMs >= PROGRESS_MS) {
      onProgress?.(index + 1, items.length)
      toldMs = now
    }
    await new Promise((resolve) => setTimeout(resolve, 0))
    sliceMs = runningMs()
  }
  onProgress?.(items.length, items.length)
}
