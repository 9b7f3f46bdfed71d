// @ts-check
// Turns system calls into operations on inodes and names. An unknown call that could change the folder is an error, because
// an incomplete recording would prove nothing.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { descriptorOf, pathsOf, textsOf } from './parse.mjs'

/** @import { Call } from './parse.mjs' */

/**
 * A folder: which name leads to which inode, and the bytes of each; `null` for a folder. Paths are relative to the root.
 * @typedef {{ names: Map<string, number>, contents: Map<number, Buffer | null> }} Image
 */

/**
 * @typedef {{ kind: 'name', path: string, inode: number | undefined, from?: string, isFolder?: boolean }} NameOperation
 *   gives the inode that name; undefined: takes the name away. `from` loses its name in the same step.
 * @typedef {{ kind: 'write', inode: number, offset: number, bytes: Buffer }} WriteOperation
 * @typedef {{ kind: 'resize', inode: number, length: number }} ResizeOperation
 * @typedef {{ kind: 'sync', inode: number, path: string, only: number | undefined, isFolder: boolean }} SyncOperation
 *   `only`: just the operation of that position
 * @typedef {{ kind: 'mark', text: string }} Mark
 * @typedef {NameOperation | WriteOperation | ResizeOperation | SyncOperation | Mark} Bare
 * @typedef {Bare & { begin: number, end: number }} Operation
 */

/** The files below a folder. @param {string} root @returns {Image} */
export function imageOf(root) {
  /** @type {Image} */
  const image = { names: new Map(), contents: new Map() }
  for (const entry of readdirSync(root, { recursive: true }).map(String).sort()) {
    const [path, inode] = [join(root, entry), image.names.size]
    image.names.set(entry, inode)
    image.contents.set(inode, statSync(path).isDirectory() ? null : readFileSync(path))
  }
  return image
}

/** The inode of the root itself. */
const ROOT = -1

/** Calls that read, lock or ask; nothing of a crash hangs on them. */
const HARMLESS = new Set(['fcntl', 'dup', 'dup2', 'dup3'])

export class Operations {
  /** @type {Operation[]} */
  list = []
  #names
  #sizes
  #next
  /** @type {Map<number, { inode: number, path: string, appends: boolean, syncs: boolean, at: number }>} */
  #open = new Map()
  #root
  #marks
  #folders

  /** @param {Image} base @param {string} root @param {string} marks */
  constructor(base, root, marks) {
    this.#names = new Map(base.names)
    this.#sizes = new Map([...base.contents].map(([inode, bytes]) => [inode, bytes?.length ?? 0]))
    this.#next = base.names.size
    this.#folders = new Set([ROOT, ...[...base.contents].filter(([, bytes]) => bytes === null).map(([inode]) => inode)])
    this.#root = root
    this.#marks = marks
  }

  /** @param {Call} call */
  take(call) {
    if (call.result < 0 || HARMLESS.has(call.name)) return
    const take = TAKEN[call.name]
    if (take === undefined) throw new Error(`the recording has a call that is not known here: ${call.name}(${call.args.slice(0, 200)})`)
    take(this, call)
  }

  /** @param {Call} call */
  opened(call) {
    const path = this.relative(pathsOf(call.args)[0] ?? '')
    if (path === undefined) return
    const flags = call.args.slice(call.args.lastIndexOf('"'))
    let inode = this.#names.get(path)
    if (inode === undefined && path !== '') {
      if (!flags.includes('O_CREAT')) throw new Error(`${path} was opened and nobody has made it`)
      inode = this.create(call, path, false)
    }
    if (flags.includes('O_TRUNC') && this.#sizes.get(inode ?? -1) !== 0) throw new Error(`${path} was emptied by opening it`)
    this.#open.set(call.result, { inode: inode ?? ROOT, path, appends: flags.includes('O_APPEND'), syncs: /O_D?SYNC/.test(flags), at: 0 })
  }

  /** @param {Call} call @param {number | undefined} given where, undefined: where the descriptor stands */
  written(call, given) {
    const { number, path } = descriptorOf(call.args)
    const bytes = Buffer.concat(textsOf(call.args)).subarray(0, call.result)
    if (path === this.#marks) {
      for (const text of bytes.toString().trim().split('\n')) this.#add(call, { kind: 'mark', text })
      return
    }
    if (this.relative(path) === undefined) return
    const file = this.#file(number, call)
    const size = this.#sizes.get(file.inode) ?? 0
    const offset = file.appends ? size : (given ?? file.at)
    if (given === undefined) file.at = offset + bytes.length
    this.#sizes.set(file.inode, Math.max(size, offset + bytes.length))
    this.#add(call, { kind: 'write', inode: file.inode, offset, bytes })
    if (file.syncs) this.#add(call, { kind: 'sync', inode: file.inode, path: file.path, only: this.list.length - 1, isFolder: false })
  }

  /** @param {Call} call */
  resized(call) {
    const file = this.#file(descriptorOf(call.args).number, call)
    const length = Number(/, (\d+)$/.exec(call.args)?.[1])
    this.#sizes.set(file.inode, length)
    this.#add(call, { kind: 'resize', inode: file.inode, length })
  }

  /** @param {Call} call */
  synced(call) {
    const { number, path } = descriptorOf(call.args)
    if (this.relative(path) === undefined) return
    const file = this.#file(number, call)
    this.#add(call, { kind: 'sync', inode: file.inode, path: file.path, only: undefined, isFolder: this.#folders.has(file.inode) })
  }

  /** @param {Call} call */
  linked(call) {
    const [from, to] = pathsOf(call.args).map((path) => this.relative(path))
    const inode = this.#names.get(from ?? '')
    if (to === undefined || inode === undefined) throw new Error(`a link from or to another place: ${call.args}`)
    this.#names.set(to, inode)
    this.#add(call, { kind: 'name', path: to, inode })
  }

  /** @param {Call} call */
  renamed(call) {
    const [from, to] = pathsOf(call.args).map((path) => this.relative(path))
    const inode = this.#names.get(from ?? '')
    if (from === undefined || to === undefined || inode === undefined) throw new Error(`a rename from or to another place: ${call.args}`)
    if (this.#folders.has(inode)) throw new Error(`a folder was renamed: ${from}`)
    this.#names.delete(from)
    this.#names.set(to, inode)
    this.#add(call, { kind: 'name', path: to, inode, from })
  }

  /** @param {Call} call */
  removed(call) {
    const path = this.relative(pathsOf(call.args)[0] ?? '')
    if (path === undefined) return
    this.#names.delete(path)
    this.#add(call, { kind: 'name', path, inode: undefined })
  }

  /** @param {Call} call @param {string} path @param {boolean} isFolder */
  create(call, path, isFolder) {
    const inode = this.#next++
    this.#names.set(path, inode)
    this.#sizes.set(inode, 0)
    if (isFolder) this.#folders.add(inode)
    this.#add(call, { kind: 'name', path, inode, isFolder })
    return inode
  }

  /** The path below the root; undefined: elsewhere. @param {string} path */
  relative(path) {
    if (path === this.#root) return ''
    return path.startsWith(`${this.#root}/`) ? path.slice(this.#root.length + 1) : undefined
  }

  /** @param {number} number @param {Call} call */
  #file(number, call) {
    const file = this.#open.get(number)
    if (file === undefined) throw new Error(`nobody opened what ${call.name}(${call.args.slice(0, 100)}) is about`)
    return file
  }

  /** @param {Call} call @param {Bare} operation */
  #add({ begin, end }, operation) {
    this.list.push({ ...operation, begin, end })
  }
}

/** @type {Record<string, (operations: Operations, call: Call) => void>} */
const TAKEN = {
  open: (operations, call) => operations.opened(call),
  openat: (operations, call) => operations.opened(call),
  write: (operations, call) => operations.written(call, undefined),
  writev: (operations, call) => operations.written(call, undefined),
  pwrite64: (operations, call) => operations.written(call, Number(/, (\d+)$/.exec(call.args)?.[1])),
  pwritev: (operations, call) => operations.written(call, Number(/, (\d+)$/.exec(call.args)?.[1])),
  ftruncate: (operations, call) => operations.resized(call),
  fsync: (operations, call) => operations.synced(call),
  fdatasync: (operations, call) => operations.synced(call),
  link: (operations, call) => operations.linked(call),
  linkat: (operations, call) => operations.linked(call),
  rename: (operations, call) => operations.renamed(call),
  renameat: (operations, call) => operations.renamed(call),
  renameat2: (operations, call) => operations.renamed(call),
  unlink: (operations, call) => operations.removed(call),
  unlinkat: (operations, call) => operations.removed(call),
  rmdir: (operations, call) => operations.removed(call),
  mkdir: (operations, call) => {
    const path = operations.relative(pathsOf(call.args)[0] ?? '')
    if (path !== undefined && path !== '') operations.create(call, path, true)
  },
  mmap: (_, call) => {
    if (/MAP_SHARED/.test(call.args) && /PROT_WRITE/.test(call.args)) throw new Error('a file of the cache was mapped for writing')
  },
}
