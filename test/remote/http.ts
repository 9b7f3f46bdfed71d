/** An HTTP server that answers as a test decides, and answers of servers that are slow or broken. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { BlobStore } from '@varve/remote'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server on a free port of this machine. */
export class HttpServer {
  answer: Answer = () => undefined
  requests = 0
  url = ''
  readonly #server = createServer((request, response) => {
    this.requests++
    this.answer(request, response)
  })

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    this.url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
    return this
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** Sends `bytes`, `rate` of them each second. */
function drip(response: ServerResponse, bytes: Uint8Array, rate: number): void {
  response.writeHead(200, { 'content-length': bytes.length })
  let sent = 0
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, (sent += rate / 10)))
    if (sent >= bytes.length) response.end()
  }, 100)
  response.on('close', () => clearInterval(timer))
}

/** Never answers. */
export const HANGS: Answer = () => undefined

/** Sends 1 KB/s of a file that is larger than anyone waits for. */
export const SLOW: Answer = (_, response) => drip(response, new Uint8Array(100_000), 1000)

/** The blobs of a store, as a WebDAV server has them; with a rate, that many bytes each second. */
export function blobsOf(store: BlobStore, rate?: number): Answer {
  return (request, response) => void sendBlob(store, rate, request, response)
}

async function sendBlob(
  store: BlobStore,
  rate: number | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const found = await store.get(decodeURIComponent((request.url ?? '').slice(1)))
  if (found === undefined) response.writeHead(404).end()
  else if (rate === undefined) response.end(found.bytes)
  else drip(response, found.bytes, rate)
}

/** The same blobs, but the connection ends in the middle of each body that is not the head. */
export function cutBodies(store: BlobStore): Answer {
  const whole = blobsOf(store)
  return (request, response) =>
    request.url?.endsWith('/head') === true ? whole(request, response) : void sendHalf(store, request, response)
}

async function sendHalf(store: BlobStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { bytes = new Uint8Array(9) } = (await store.get(decodeURIComponent((request.url ?? '').slice(1)))) ?? {}
  response
    .writeHead(200, { 'content-length': bytes.length })
    .write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
}
