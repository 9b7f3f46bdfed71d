/**
 * The server of the page, for this machine only. A request is answered if
 *
 *   1. it names the server by its loopback address, so that no other site reaches it under a name of its own (DNS rebinding)
 *   2. its path begins with the token of this run, which only the terminal shows
 *   3. it reads: GET or HEAD
 */
import type { ContentsJson, RecordJson, ViewJson } from 'varve/cli-json'
import type { VerifyReport } from 'varve'
import { randomBytes, timingSafeEqual, createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** How a call is followed and stopped. */
export interface Control {
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((done: number, total: number) => void) | undefined
}

/** The caches; `dir` is that of one of them. */
export interface Source {
  overview(): Promise<ViewJson>
  contents(dir: string, control: Control): Promise<ContentsJson>
  verify(dir: string, control: Control): Promise<VerifyReport>
  why(
    dir: string,
    ids: readonly { readonly task?: string | undefined; readonly id: string }[],
  ): Promise<readonly RecordJson[]>
}

export interface ServeOptions {
  /** 0 is any free port. */
  readonly port: number
}

export interface Server {
  /** With the token that every request needs. */
  readonly url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const TOKEN_BYTES = 24
const HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** Starts the server. Rejects if the port is not free. */
export async function serve(source: Source, { port }: ServeOptions): Promise<Server> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const server = createServer((request, response) => {
    answer(source, token, request, response).catch((error: unknown) => {
      if (!response.headersSent) refuse(response, 500, messageOf(error))
      response.end()
    })
  })
  server.listen(port, HOST)
  await once(server, 'listening')
  const { port: chosen } = server.address() as AddressInfo
  return {
    url: `http://${HOST}:${chosen}/${token}/`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answer(
  source: Source,
  token: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { port = 0 } = request.socket.address() as AddressInfo
  if (![`${HOST}:${port}`, `localhost:${port}`].includes(request.headers.host ?? ''))
    return refuse(response, 403, 'unknown host')
  const { pathname, searchParams } = new URL(request.url ?? '/', `http://${HOST}`)
  const [, given = '', name = ''] = /^\/([^/]*)\/(.*)$/.exec(pathname) ?? []
  if (!isSame(given, token)) return refuse(response, 403, 'the address lacks the token that varve view printed')
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return refuse(response, 405, 'this server only reads', { Allow: 'GET, HEAD' })
  const dir = searchParams.get('dir') ?? ''
  if (name === '') return sendPage(response)
  if (name === 'overview') return sendLines(response, () => source.overview())
  if (name === 'contents') return sendLines(response, (control) => source.contents(dir, control))
  if (name === 'verify') return sendLines(response, (control) => source.verify(dir, control))
  if (name === 'why') {
    const asked = { id: searchParams.get('id') ?? '', task: searchParams.get('task') ?? undefined }
    return sendLines(response, () => source.why(dir, [asked]))
  }
  refuse(response, 404, 'there is no such page')
}

function isSame(given: string, token: string): boolean {
  const one = Buffer.from(given)
  const other = Buffer.from(token)
  return one.length === other.length && timingSafeEqual(one, other)
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { ...HEADERS, ...headers, 'Content-Type': 'text/plain; charset=utf-8' })
    .end(`${message}\n`)
}

function sendPage(response: ServerResponse): void {
  const { html, policy } = documentOf()
  const headers = {
    ...HEADERS,
    'Content-Security-Policy': `${policy}; frame-ancestors 'none'`,
    'Content-Type': 'text/html; charset=utf-8',
  }
  response.writeHead(200, headers).end(html)
}

/** Sends `{ progress: [done, total] }` while a call runs, and then `{ result }` or `{ error }`, a line each. The call ends with the connection. */
async function sendLines<T>(response: ServerResponse, call: (control: Control) => Promise<T>): Promise<void> {
  response.writeHead(200, { ...HEADERS, 'Content-Type': 'application/x-ndjson' }).flushHeaders()
  const stop = new AbortController()
  response.on('close', () => stop.abort())
  const send = (line: object): void => void response.write(`${JSON.stringify(line)}\n`)
  try {
    send({
      result: await call({ signal: stop.signal, onProgress: (done, total) => send({ progress: [done, total] }) }),
    })
  } catch (error) {
    send({ error: messageOf(error) })
  }
  response.end()
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

// The HTML of the page: one file with its script and style. Its policy names both by their digests, so nothing else runs, and
// forbids all requests but those to the server that sent the page.

/** A page, and the policy that it also has as an element. */
export interface Document {
  readonly html: string
  readonly policy: string
}

/** A page that needs nothing but itself. */
export function reportPage(view: ViewJson): string {
  return documentOf(view).html
}

/** The page about `view`, or one that asks its server. */
export function documentOf(view?: ViewJson): Document {
  const style = part('page.css')
  const script = part('page').replaceAll('</script', String.raw`<\/script`)
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    `connect-src ${view === undefined ? "'self'" : "'none'"}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Varve</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
${view === undefined ? '' : `<script type="application/json" id="data">${jsonText(view)}</script>\n`}<script type="module">${script}</script>
</body>
</html>
`
  return { html, policy }
}

/** JSON that ends no element. */
function jsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`)
}

/** A file of this package, by the name under which it is exported. */
function part(name: 'page' | 'page.css'): string {
  return readFileSync(createRequire(import.meta.url).resolve(`@varve/view/${name}`), 'utf8')
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
