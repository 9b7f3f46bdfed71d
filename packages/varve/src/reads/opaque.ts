/** What code starts, loads or opens whose reads cannot be seen: processes, worker threads, native addons, databases and WASI. */
import type * as childProcess from 'node:child_process'
import type * as dns from 'node:dns'
import { builtin } from '../host/builtin.ts'
import { installAddons } from './addons.ts'
import { syncNamedImports } from './env.ts'
import { type Installation, type Note, type Opaque, isCallable, replace, sinkNow } from './sink.ts'
import { callerAbove } from './known.ts'

const PROCESSES = [
  'spawn',
  'spawnSync',
  'exec',
  'execSync',
  'execFile',
  'execFileSync',
  'fork',
] as const satisfies (keyof typeof childProcess)[]

/** Wraps what starts processes and workers, and what loads addons. */
export function installOpaque(installation: Installation): void {
  const processes = builtin('node:child_process')
  if (processes !== undefined) {
    for (const name of PROCESSES) replace(installation, processes, name, noteOf('process', 0))
    // Functions that code took out of the module before end here, besides those that wait for the process.
    replace(installation, processes.ChildProcess.prototype, 'spawn', (sink, [options]) => {
      sink.opaque({ kind: 'process', what: isObject(options) ? String(Reflect.get(options, 'file')) : '' })
    })
  }
  installWorkers(installation)
  installAddons(installation)
}

/** Wraps the class of worker threads. Its subclasses are reported, and its prototype stays. */
function installWorkers(installation: Installation): void {
  const [threads, channels] = [builtin('node:worker_threads'), builtin('node:diagnostics_channel')]
  if (threads === undefined) return
  let isNoted = false
  const note = noteOf('worker', 0)
  replace(installation, threads, 'Worker', (sink, args) => {
    isNoted = true
    queueMicrotask(() => (isNoted = false))
    note(sink, args)
  })
  // Code that took the class out of the module before.
  const see = (): void => {
    const sink = isNoted ? undefined : sinkNow(installation)
    sink?.opaque({ kind: 'worker', what: callerAbove(see) })
    isNoted = false
  }
  channels?.subscribe('worker_threads', see)
  installation.undo.push(() => void channels?.unsubscribe('worker_threads', see))
}

/** Wraps a built-in module that is about to be loaded, if it reads files itself or connects. To load it earlier would print a warning of Node.js. */
export function installLoaded(installation: Installation, name: string): void {
  installSockets(installation, name)
  const sqlite = name === 'node:sqlite' ? builtin(name) : undefined
  const wasi = name === 'node:wasi' || name === 'wasi' ? builtin('node:wasi') : undefined
  if (sqlite !== undefined) replace(installation, sqlite, 'DatabaseSync', noteOf('database', 0))
  if (wasi !== undefined) replace(installation, wasi, 'WASI', noteFolders)
  if (sqlite !== undefined || wasi !== undefined) syncNamedImports()
}

function noteOf(kind: Opaque['kind'], place: number): Note {
  return (sink, args) => sink.opaque({ kind, what: String(args[place]) })
}

/** A program of WASI reads files below the folders that it is given. The module that starts it shows which program it is. */
const noteFolders: Note = (sink, [options]) => {
  const folders: unknown = isObject(options) ? Reflect.get(options, 'preopens') : undefined
  if (isObject(folders) && Object.keys(folders).length > 0)
    sink.opaque({ kind: 'wasi', what: callerAbove(noteFolders) })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * Connections to the network and to sockets of other processes, and lookups of names. What answers can change at any time, and no state of it can be
 * compared, so results of work that connects are not stored. These are seen, also if code took the functions before:
 *
 *   net, tls, http, https, http2    each socket, as it connects
 *   fetch, WebSocket, undici        each request, by a diagnostics channel: a pool keeps sockets open, so a request may open none
 *   http, https                     each request that an agent gets, for the same reason
 *   http2                           each request of a session
 *   dgram                           what is bound, connected or sent
 *   dns                             each lookup, besides those by functions that were taken before
 *
 * The built-in modules are wrapped when something loads them: to load them takes milliseconds.
 */

const CHANNELS = ['undici:request:create', 'http.client.request.start', 'net.client.socket'] as const

/** Modules that bring sockets. */
const MODULES = /^(?:node:)?(?:net|tls|http|https|http2|dgram|dns|dns\/promises)$/

/** What each module has that connects: names of methods, by the parts of the module that have them. */
type Connecting = (module: object) => readonly (readonly [target: unknown, methods: readonly string[]])[]

const CONNECTING: Readonly<Record<'net' | 'http' | 'dgram', Connecting>> = {
  net: (net) => [[prototypeIn(net, 'Socket'), ['connect']]],
  http: (http) => [[prototypeIn(http, 'Agent'), ['addRequest']]],
  dgram: (dgram) => [[prototypeIn(dgram, 'Socket'), ['bind', 'connect', 'send']]],
}

/** Watches what is loaded by now, and listens. */
export function installNetwork(installation: Installation): void {
  const channels = builtin('node:diagnostics_channel')
  for (const name of CHANNELS) {
    const see = (message: unknown): void =>
      sinkNow(installation)?.opaque({ kind: 'network', what: targetOf([partOf(message, 'request') ?? message]) })
    channels?.subscribe(name, see)
    installation.undo.push(() => void channels?.unsubscribe(name, see))
  }
  const { bun, deno }: Readonly<Record<string, string | undefined>> = globalThis.process.versions
  if (bun !== undefined || deno !== undefined) replace(installation, globalThis, 'fetch', note)
  const loaded: unknown = Reflect.get(globalThis.process, 'moduleLoadList')
  const names = Array.isArray(loaded)
    ? loaded.map((name) => String(name).replace('NativeModule ', ''))
    : ['http', 'dgram']
  for (const name of names) installSockets(installation, name)
}

/** Wraps a built-in module that is about to be loaded, if it brings sockets, with those that it loads itself. */
export function installSockets(installation: Installation, name: string): void {
  if (!MODULES.test(name)) return
  const bare = name.replace('node:', '')
  const names =
    bare === 'dgram' ? (['dgram'] as const) : bare.startsWith('http') ? (['net', 'http'] as const) : (['net'] as const)
  for (const one of names) {
    const module = builtin(`node:${one}`)
    if (module === undefined) continue
    for (const [target, methods] of CONNECTING[one](module))
      if (isObject(target)) for (const method of methods) replace(installation, target, method, note)
  }
  const http2 = bare === 'http2' ? builtin('node:http2') : undefined
  if (http2 !== undefined) replace(installation, http2, 'connect', noteSession(installation))
  if (bare !== 'dgram') installLookups(installation)
  syncNamedImports()
}

function installLookups(installation: Installation): void {
  const names: typeof dns | undefined = builtin('node:dns')
  if (names === undefined) return
  const targets = [names, names.promises, names.Resolver.prototype, names.promises.Resolver.prototype]
  for (const target of targets)
    for (const name of namesOf(target))
      if (/^(?:lookup|resolve|reverse)/.test(name)) replace(installation, target, name, note)
}

const note: Note = (sink, args) => sink.opaque({ kind: 'network', what: targetOf(args) })

/** A session stays open, so its requests connect as well. */
function noteSession(installation: Installation): Note {
  return (sink, args) => {
    note(sink, args)
    return (session) => {
      if (isObject(session)) replace(installation, Object.getPrototypeOf(session), 'request', note)
      return session
    }
  }
}

/** What a call connects to, as far as its arguments show. */
function targetOf(args: readonly unknown[]): string {
  const given = args.flat(2)
  const [options] = given.filter(isObject)
  const text = given.find((one) => typeof one === 'string' || one instanceof URL)
  const [origin, host, path, port] = [['origin'], ['host', 'hostname', '_host'], ['path'], ['port']].map((names) =>
    names.map((name) => partOf(options, name)).find((value) => value !== undefined && value !== null),
  )
  const number = given.find((one) => typeof one === 'number') ?? port
  if (origin !== undefined) return String(origin)
  const named = text ?? host
  if (named === undefined && path !== undefined) return String(path)
  return [named ?? 'localhost', number].filter((part) => part !== undefined).join(':')
}

function prototypeIn(module: object, name: string): unknown {
  return partOf(partOf(module, name), 'prototype')
}

function partOf(target: unknown, name: string): unknown {
  return isObject(target) || isCallable(target) ? Reflect.get(target, name) : undefined
}

/** Names of methods, also of those of a class. */
function namesOf(target: object): string[] {
  return [...Object.getOwnPropertyNames(target), ...Object.getOwnPropertyNames(Object.getPrototypeOf(target) ?? {})]
}
