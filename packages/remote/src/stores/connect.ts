/**
 * Limits the time until `fetch` has a connection, which has no option for it and waits ten seconds by itself. A host that drops packets
 * would otherwise take the budget of a whole answer.
 *
 *   fetch ── created ──▶ DNS, TCP, TLS ──▶ sent ──▶ answer
 *               begin                        end
 *
 * Node.js publishes both moments on diagnostics channels. A runtime that does not publish them has no limit but that of the request.
 * A process that is busy does not use up the limit: it is counted in slices, and one slice takes as long as the process is busy.
 */
import { subscribe } from 'node:diagnostics_channel'

/** Milliseconds that a connection may take. */
export const CONNECT_MS = 1000

const SLICES = 10

/** Requests that were not created yet, by method and URL. Equal ones are interchangeable. */
const waiting: Map<string, Set<Connection>> = new Map()

/** Requests that were created. */
const created: WeakMap<object, Connection> = new WeakMap()

/** The connection of one request. */
export class Connection {
  readonly #onLate: () => void
  #timer: NodeJS.Timeout | undefined

  /** `onLate` is called if there is no connection within `CONNECT_MS`. */
  constructor(onLate: () => void) {
    this.#onLate = onLate
  }

  async fetch(request: Request, init: RequestInit): Promise<Response> {
    observe()
    const key = keyOf(request.method, request.url)
    const same = waiting.get(key) ?? new Set()
    waiting.set(key, same.add(this))
    try {
      return await fetch(request, init)
    } finally {
      this.end()
      same.delete(this)
      if (same.size === 0 && waiting.get(key) === same) waiting.delete(key)
    }
  }

  begin(left: number = SLICES): void {
    this.#timer = setTimeout(() => (left > 1 ? this.begin(left - 1) : this.#onLate()), CONNECT_MS / SLICES)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

let isObserving = false

/** Begins to observe requests, when there is a first one. */
function observe(): void {
  if (isObserving) return
  isObserving = true
  subscribe('undici:request:create', (message) => {
    const request = requestIn(message)
    const key = request === undefined ? '' : keyOf(textOf(request, 'method'), textOf(request, 'origin') + textOf(request, 'path'))
    const [connection] = waiting.get(key) ?? []
    if (request === undefined || connection === undefined) return
    waiting.get(key)?.delete(connection)
    created.set(request, connection)
    connection.begin()
  })
  subscribe('undici:client:sendHeaders', (message) => {
    const request = requestIn(message)
    if (request !== undefined) created.get(request)?.end()
  })
}

function keyOf(method: string, url: string): string {
  return `${method} ${url}`
}

function requestIn(message: unknown): object | undefined {
  const request: unknown = typeof message === 'object' && message !== null && 'request' in message ? message.request : undefined
  return typeof request === 'object' && request !== null ? request : undefined
}

function textOf(request: object, field: string): string {
  const value: unknown = Reflect.get(request, field)
  return typeof value === 'string' ? value : ''
}
