/** Exports into memory and imports from it. */
import { Readable, Writable } from 'node:stream'
import type { Cache } from 'varve'
import type { ExportOptions, ImportOptions, ImportReport } from 'varve/json'

/** What an export writes. */
export async function exported(cache: Cache, options: ExportOptions = {}): Promise<string> {
  const chunks: Buffer[] = []
  const target = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
  const report = await cache.exportJson(target, options)
  const bytes = Buffer.concat(chunks)
  if (report.bytes !== bytes.length) throw new Error(`${report.bytes} bytes were reported, ${bytes.length} written`)
  return bytes.toString('utf8')
}

/** Imports a text that arrives in pieces of so many bytes. */
export function imported(
  cache: Cache,
  text: string,
  options: ImportOptions = {},
  pieceBytes: number = 1 << 16,
): Promise<ImportReport> {
  const bytes = Buffer.from(text)
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
  return cache.importJson(Readable.from(pieces), options)
}

/** One object of an export. */
export interface Line {
  readonly namespace: string
  readonly version: string
  readonly key?: string
  readonly keyBase64?: string
  readonly text?: string
  readonly json?: unknown
  readonly base64?: string
  readonly valueBytes?: number
}

/** The lines of an NDJSON export. */
export function linesOf(ndjson: string): Line[] {
  return ndjson
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text))
}

/** A line with the fields that all have. */
export function line(fields: object): string {
  return `${JSON.stringify({ namespace: 'n', version: '', ...fields })}\n`
}
