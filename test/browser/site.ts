/** A site on loopback with the package `varve` as it is published and the program of a worker, and a page of it in Chromium. */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { startBrowser } from '../../scripts/common/browser.mjs'

const PACKAGE = fileURLToPath(new URL('../../packages/varve', import.meta.url))
const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url))
const TYPES: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.mjs': 'text/javascript' }

/** What a test asks a worker, and gets as JSON. */
export type Ask = (action: string, ...args: readonly unknown[]) => Promise<unknown>

export interface Site {
  readonly page: Page
  /** Starts a worker of this name; it ends with `stop`, at once. `program` is its path on the site. */
  start(worker: string, program?: string): Promise<Ask>
  stop(worker: string): Promise<void>
  close(): Promise<void>
}

/** `programs` are further files of the site, by path. */
export async function openSite(programs: Readonly<Record<string, string>> = {}): Promise<Site> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(request.url ?? '/'))
    if (path === '/')
      return void response.setHeader('content-type', 'text/html').end('<!doctype html><title>varve</title>')
    if (Object.hasOwn(programs, path))
      return void response.setHeader('content-type', 'text/javascript').end(programs[path])
    const file = path === '/worker.mjs' ? WORKER : join(PACKAGE, path)
    if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end()
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
    createReadStream(file).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the site has no port')
  const browser: Browser = await startBrowser()
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${address.port}/`)
  await page.evaluate(PAGE)
  return {
    page,
    async start(worker, program = '/worker.mjs') {
      await page.evaluate(`start(${JSON.stringify(worker)}, ${JSON.stringify(program)})`)
      return (action, ...args) => page.evaluate(`ask(${JSON.stringify(worker)}, ${JSON.stringify([action, ...args])})`)
    },
    stop: (worker) => page.evaluate(`stop(${JSON.stringify(worker)})`),
    async close() {
      await browser.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The program of the page, as text, because tests are compiled without the types of browsers. */
const PAGE = `
const workers = new Map()
globalThis.start = (name, program) => {
  const worker = new Worker(program, { type: 'module' })
  const waiting = new Map()
  worker.onmessage = ({ data: { id, answer, error } }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    error === undefined ? resolve(answer) : reject(new Error(error))
  }
  worker.onerror = ({ message }) => { for (const { reject } of waiting.values()) reject(new Error(message ?? 'the worker failed')) }
  workers.set(name, { worker, waiting, count: 0 })
}
globalThis.ask = (name, call) => {
  const entry = workers.get(name)
  const id = entry.count++
  return new Promise((resolve, reject) => {
    entry.waiting.set(id, { resolve, reject })
    entry.worker.postMessage({ id, call })
  })
}
globalThis.stop = (name) => { workers.get(name).worker.terminate() }
`
