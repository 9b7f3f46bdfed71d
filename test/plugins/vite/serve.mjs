// @ts-check
// A development server of Vite for the project in the working directory, driven by messages of the test: `crawl`, `restart`,
// `settle` and `close`.
import { createServer } from 'vite'

/** Results of the calls of all servers of this process. @type {object[]} */
const stats = []
Reflect.set(globalThis, 'stats', stats)
/** What the server has sent to the browser. @type {import('vite').HotPayload[]} */
const sent = []

let changes = 0
const server = await createServer({
  root: process.cwd(),
  cacheDir: `node_modules/.vite-${process.env['SERVE_CACHED']}`,
  logLevel: 'silent',
  server: { port: 0, host: '127.0.0.1', fs: { strict: false }, watch: { interval: 20 } },
  optimizeDeps: { noDiscovery: true },
  environments: { edge: { consumer: 'server' } },
  plugins: [{ name: 'listen', configureServer: listen, watchChange: () => void (changes += 1) }],
})
await listenOnFreePort(5)

/**
 * Vite looks for a free port and listens on it afterwards, so another process may take it in between.
 * @param {number} tries
 * @returns {Promise<void>}
 */
async function listenOnFreePort(tries) {
  await server.listen().catch((error) => {
    if (tries === 1) throw error
    return listenOnFreePort(tries - 1)
  })
}

/** @param {import('vite').ViteDevServer} one */
function listen(one) {
  const { hot } = one.environments.client
  const send = hot.send.bind(hot)
  /** @param {...any} args */
  hot.send = (...args) => {
    sent.push(args[0])
    return Reflect.apply(send, hot, args)
  }
}

/** @param {string} text */
const withoutTimes = (text) => text.replaceAll(/([?&])t=\d+/g, '$1t=0').replaceAll(/"timestamp":\d+/g, '"timestamp":0')

/** A source map as text, with its fields in the order of their names. @param {Record<string, unknown>} map */
const mapText = (map) => JSON.stringify(Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1)))

/** A response with its source map as text. @param {string} text */
const withMap = (text) =>
  text.replace(/sourceMappingURL=data:application\/json;base64,(\S+)/, (_, map) =>
    mapText(JSON.parse(Buffer.from(map, 'base64').toString())),
  )

/** All modules of the project as the browser gets them, and as code of the other environments. */
async function crawl() {
  const address = server.httpServer?.address()
  const port = typeof address === 'object' ? address?.port : 0
  /** @type {Record<string, string>} */
  const found = {}
  const waiting = ['/src/main.js']
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (url in found) continue
    const response = await fetch(`http://127.0.0.1:${port}${url}`, { headers: { accept: '*/*' } })
    const text = await response.text()
    found[url] = `${response.status} ${withoutTimes(withMap(text))}`
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\/(?:src|node_modules\/widget)\/[^"]+)"/g)]
    waiting.push(...imports.map(([, next = '']) => next.replace(/([?&])t=\d+(?:&|$)/, '$1').replace(/[?&]$/, '')))
  }
  const urls = Object.keys(found)
  for (const [name, environment] of Object.entries(server.environments).filter(([one]) => one !== 'client')) {
    for (const url of urls) {
      const made = await environment
        .transformRequest(url)
        .catch((error) => ({ code: String(error.message), map: null }))
      found[`${name} ${url}`] = withoutTimes(`${made?.code} ${mapText(Object(made?.map))}`)
    }
  }
  return found
}

/** Waits until the server has detected `count` changes and has sent their updates; returns what it sent. @param {number} count */
async function settle(count) {
  const updates = () => sent.filter(({ type }) => type === 'update' || type === 'full-reload').length
  const isSettled = () => changes >= count && updates() >= count
  for (let turn = 0; turn < 300 && !isSettled(); turn++) await new Promise((resolve) => setTimeout(resolve, 10))
  await new Promise((resolve) => setTimeout(resolve, 100))
  changes = 0
  return sent.splice(0).map((payload) => withoutTimes(JSON.stringify(payload)))
}

/** @type {Record<string, (argument: any) => Promise<unknown>>} */
const commands = {
  crawl,
  settle,
  restart: () => server.restart(),
  idle: () => new Promise((resolve) => setTimeout(resolve, 2000)),
  async close() {
    await server.close()
    return stats
  },
}

process.on('message', async (/** @type {{ name: string, argument: unknown }} */ { name, argument }) => {
  const result = await commands[name]?.(argument).catch((error) => ({ failure: `${error} ${error.cause ?? ''}` }))
  process.send?.({ result: result ?? null })
  if (name === 'close') process.disconnect()
})
process.on('disconnect', () => process.exit()) // a server that was restarted, with or without the cache, would go on
process.send?.({ result: 'ready' })
