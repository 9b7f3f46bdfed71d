/** The entries of a cache as bytes, and other bytes in their places, put there by the API: every checksum is right. */
import { Readable, Writable } from 'node:stream'
import { openCache } from 'varve'

/** An entry. */
export interface Stored {
  readonly namespace: string
  /** What `importJson` takes as its address. */
  readonly address: Readonly<Record<string, string>>
  readonly value: Buffer
}

/** Every entry of the cache in `dir`. */
export async function entriesOf(dir: string): Promise<Stored[]> {
  const cache = await openCache({ name: 'poisoned', dir })
  const chunks: Buffer[] = []
  const target = new Writable({ write: (chunk: Buffer, _, done) => void (chunks.push(chunk), done()) })
  await cache.exportJson(target, { format: 'ndjson' })
  await cache.close()
  const lines = Buffer.concat(chunks)
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  return lines.map((line) => {
    const { json, text, base64, ...address }: Record<string, string> = JSON.parse(line)
    const value = base64 === undefined ? Buffer.from(text ?? JSON.stringify(json)) : Buffer.from(base64, 'base64')
    return { namespace: address['namespace'] ?? '', address, value }
  })
}

/** Puts these bytes in the places of entries and commits them. */
export async function plant(dir: string, entries: readonly Stored[]): Promise<void> {
  const cache = await openCache({ name: 'poisoned', dir })
  const lines = entries.map(({ address, value }) => JSON.stringify({ ...address, base64: value.toString('base64') }))
  await cache.importJson(Readable.from([lines.join('\n')]))
  await cache.close()
}
