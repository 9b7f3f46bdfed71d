/**
 * The host that this code runs on: modules of Node.js, random bits, and the file of this code. Varve also loads on hosts without any of
 * them. There are no static imports, so a bundler for browsers has nothing to resolve, and a module costs nothing until it is used.
 */
import type * as hooks from 'node:async_hooks'
import type * as childProcess from 'node:child_process'
import type * as crypto from 'node:crypto'
import type * as dgram from 'node:dgram'
import type * as channels from 'node:diagnostics_channel'
import type * as dns from 'node:dns'
import type * as fs from 'node:fs'
import type * as http from 'node:http'
import type * as http2 from 'node:http2'
import type * as module from 'node:module'
import type * as net from 'node:net'
import type * as os from 'node:os'
import type * as path from 'node:path'
import type * as stream from 'node:stream'
import type * as url from 'node:url'
import type * as util from 'node:util'
import type * as v8 from 'node:v8'
import type * as threads from 'node:worker_threads'
import type * as zlib from 'node:zlib'
import { ownFiles } from './own.ts'

interface Builtins {
  'node:async_hooks': typeof hooks
  'node:child_process': typeof childProcess
  'node:crypto': typeof crypto
  'node:dgram': typeof dgram
  'node:diagnostics_channel': typeof channels
  'node:dns': typeof dns
  'node:fs': typeof fs
  'node:http': typeof http
  'node:http2': typeof http2
  'node:module': typeof module
  'node:net': typeof net
  'node:os': typeof os
  'node:path': typeof path
  /** Since Node.js 22.5. */
  'node:sqlite': object
  'node:stream': typeof stream
  'node:url': typeof url
  'node:util': typeof util
  'node:v8': typeof v8
  'node:wasi': object
  'node:worker_threads': typeof threads
  'node:zlib': typeof zlib
}

/** The module, or undefined if the host does not have it. `node:fs` is Varve's own view of it. */
export function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
  const found = hostModule(name)
  return name === 'node:fs' && found !== undefined ? (ownFiles(found as typeof fs) as Builtins[Name]) : found
}

/** The module as programs have it, for the recorder, which replaces its functions. */
export function hostModule<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
  const found: unknown = globalThis.process?.getBuiltinModule?.(name)
  return found as Builtins[Name] | undefined
}

// Random bits, from `node:crypto` where a program has no `crypto`, as some test environments have none.

/** 64 random bits. Throws if the host has no source of them. */
export function randomBits(): bigint {
  const source = globalThis.crypto ?? builtin('node:crypto')?.webcrypto
  const [bits = 0n] = source.getRandomValues(new BigUint64Array(1))
  return bits
}

// The file that this code runs from: a module of this package, or the bundle of a tool that contains Varve.

/**
 * The path of the file; undefined if there is none, as in an executable that contains its code. In CommonJS, bundlers replace
 * `import.meta.url` by nothing, or by a path of the machine that made the bundle.
 */
export function codeFile(): string | undefined {
  const path = commonJsFile() ?? moduleFile()
  return path !== undefined && builtin('node:fs')?.existsSync(path) === true ? path : undefined
}

/** ES modules have no `__filename`, or a global one that is not a file, as in a worker whose program is a text. */
function commonJsFile(): string | undefined {
  try {
    return __filename === Reflect.get(globalThis, '__filename') ? undefined : __filename
  } catch {
    return undefined
  }
}

function moduleFile(): string | undefined {
  try {
    return builtin('node:url')?.fileURLToPath(import.meta.url)
  } catch {
    return undefined // a URL of another kind, or a path of another system
  }
}

/** The end of that path, from the directory of this package on; undefined in the bundle of a tool. */
export function packagePath(): string | undefined {
  return /\/(?:varve|package)\/(?:src|dist)\/.*$/.exec((codeFile() ?? '').replaceAll('\\', '/'))?.[0]
}
