// @ts-check
// NOT a real server: a fake of the cache service of GitHub Actions, which runs only at GitHub. It has the three calls of the service, signed
// addresses, entries that cannot be changed, and finds the newest entry by prefix. `actions.test.ts` runs GitHub's own library against it.
//
//   node actions.mjs <port> <token> [read-only]    listens on loopback
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

/**
 * @typedef {object} Entry
 * @property {string} version
 * @property {Buffer} bytes
 * @property {Map<string, Buffer>} parts of an upload in several requests, by id
 * @property {boolean} isFinal
 */
/** @typedef {{ key: string, version: string, restore_keys?: readonly string[], size_bytes?: string }} Fields of a call */
/** @typedef {readonly [status: number, answer: object]} Reply */

const [port, token, mode] = process.argv.slice(2)
const url = `http://127.0.0.1:${port}`
const signature = randomUUID()
const SERVICE = /^\/twirp\/github\.actions\.results\.api\.v1\.CacheService\/(\w+)$/

/** By key, the oldest first. @type {Map<string, Entry>} */
const entries = new Map()

/** Blobs are in a service of their own, of which clients get signed addresses. @param {string} key */
const addressOf = (key) => `${url}/blobs/${encodeURIComponent(key)}?sig=${signature}`

/** @type {Readonly<Record<string, (fields: Fields) => Reply>>} */
const CALLS = {
  CreateCacheEntry: ({ key, version }) => {
    if (mode === 'read-only')
      return [403, { code: 'permission_denied', msg: 'cache write denied: the token may only read' }]
    if (entries.has(key)) return [409, { code: 'already_exists', msg: 'cache entry already exists' }]
    entries.set(key, { version, bytes: Buffer.alloc(0), parts: new Map(), isFinal: false })
    return [200, { ok: true, signed_upload_url: addressOf(key) }]
  },
  FinalizeCacheEntryUpload: ({ key, size_bytes: size = '0' }) => {
    const entry = entries.get(key)
    if (entry !== undefined) entry.isFinal = entry.bytes.length === Number(size)
    return [200, { ok: entry?.isFinal === true, entry_id: '1' }]
  },
  GetCacheEntryDownloadURL: ({ key, version, restore_keys: prefixes = [] }) => {
    const found = [...entries]
      .filter(([, each]) => each.isFinal && each.version === version)
      .map(([name]) => name)
      .toReversed()
    const [matched] = [key, ...prefixes].flatMap((prefix) => found.filter((name) => name.startsWith(prefix)))
    return [
      200,
      matched === undefined
        ? { ok: false }
        : { ok: true, matched_key: matched, signed_download_url: addressOf(matched) },
    ]
  },
}

/** @param {Entry} entry @param {URL} address @param {Buffer} body @param {unknown} type @returns {number} the status */
function write(entry, address, body, type) {
  const [kind, id] = [address.searchParams.get('comp'), address.searchParams.get('blockid')]
  if (kind === 'block') entry.parts.set(id ?? '', body)
  else if (kind === 'blocklist') {
    const ids = [...body.toString().matchAll(/<Latest>(.*?)<\/Latest>/g)].map(([, each = '']) => each)
    entry.bytes = Buffer.concat(ids.map((each) => entry.parts.get(each) ?? Buffer.alloc(0)))
  } else if (type !== 'BlockBlob') return 400
  else entry.bytes = body
  return 201
}

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
async function answer(request, response) {
  /** @type {Buffer[]} */
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const address = new URL(request.url ?? '', url)
  const call = CALLS[SERVICE.exec(address.pathname)?.[1] ?? '']
  if (call !== undefined) {
    const [status, reply] =
      request.headers.authorization === `Bearer ${token}` ? call(JSON.parse(body.toString())) : [401, {}]
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }
  const entry = entries.get(decodeURIComponent(address.pathname.slice('/blobs/'.length)))
  if (entry === undefined || address.searchParams.get('sig') !== signature) return response.writeHead(404).end()
  if (request.method === 'PUT')
    return response.writeHead(write(entry, address, body, request.headers['x-ms-blob-type'])).end()
  return read(entry.bytes, request, response)
}

/** @param {Buffer} bytes @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
function read(bytes, request, response) {
  const [, first, last] =
    /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? String(request.headers['x-ms-range'] ?? '')) ?? []
  const [start, end] = [
    Number(first ?? 0),
    last === undefined || last === '' ? bytes.length : Math.min(Number(last) + 1, bytes.length),
  ]
  const range = first === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }
  response.writeHead(first === undefined ? 200 : 206, { 'content-length': end - start, etag: '"1"', ...range })
  return response.end(request.method === 'HEAD' ? undefined : bytes.subarray(start, end))
}

createServer((request, response) => void answer(request, response)).listen(Number(port), '127.0.0.1')
