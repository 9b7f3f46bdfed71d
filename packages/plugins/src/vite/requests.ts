/** Reports to the cache when a development server is busy with a page. */
import type { ViteDevServer } from 'vite'
import { noteRequest } from '../build/server.ts'

/** The hook `configureServer`: notes each request before the server answers it. */
export function watchRequests(server: unknown): void {
  if (!isServer(server)) return
  server.middlewares.use((_request, _response, next) => {
    noteRequest()
    next()
  })
}

function isServer(server: unknown): server is ViteDevServer {
  return typeof server === 'object' && server !== null && 'middlewares' in server
}
