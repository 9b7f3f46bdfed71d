/** What code starts or loads whose reads cannot be seen: processes, worker threads and native addons. */
import type * as childProcess from 'node:child_process'
import { builtin } from '../host/builtin.ts'
import type { Installation, Opaque } from './sink.ts'
import { type Note, replace } from './wrapper.ts'

const PROCESSES = ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const satisfies (keyof typeof childProcess)[]

/** Wraps what starts processes and workers, and what loads addons. */
export function installOpaque(installation: Installation): void {
  const processes = builtin('node:child_process')
  if (processes !== undefined) for (const name of PROCESSES) replace(installation, processes, name, noteOf('process', 0))
  const threads = builtin('node:worker_threads')
  if (threads !== undefined) replaceClass(installation, threads, 'Worker')
  replace(installation, globalThis.process, 'dlopen', noteOf('addon', 1))
}

function noteOf(kind: Opaque['kind'], place: number): Note {
  return (sink, args) => sink.opaque({ kind, what: String(args[place]) })
}

/** A class that others extend: its subclasses are reported, and its prototype stays. */
function replaceClass(installation: Installation, target: object, name: string): void {
  replace(installation, target, name, noteOf('worker', 0))
}
