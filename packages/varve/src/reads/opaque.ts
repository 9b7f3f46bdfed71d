/** What code starts, loads or opens whose reads cannot be seen: processes, worker threads, native addons, databases and WASI. */
import type * as childProcess from 'node:child_process'
import { builtin } from '../host/builtin.ts'
import { installAddons } from './addons.ts'
import { syncNamedImports } from './env.ts'
import { installSockets } from './network.ts'
import { type Installation, type Opaque, sinkNow } from './sink.ts'
import { callerAbove } from './stack.ts'
import { type Note, replace } from './wrapper.ts'

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
