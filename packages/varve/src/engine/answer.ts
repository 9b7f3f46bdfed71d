/** Answers of both engines that are JSON: `{"ok": <report>}`, or `{"code", "message"}` if the call failed. */
import type { EngineChunk, EngineError } from './engine.ts'

/** Captured early, because programs replace it. */
const { parse } = JSON

/** An error of an engine. */
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
