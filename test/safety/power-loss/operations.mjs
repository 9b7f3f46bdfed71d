// @ts-check
// Turns system calls into the operations of the simulated file system. An unknown call that could change the directory is an
// error, because an incomplete recording would prove nothing.
import { dirname } from 'node:path'
import { descriptorOf, pathsOf, textsOf } from './parse.mjs'

/** @import { Call } from './parse.mjs' */

/**
 * An operation as the simulated file system reads it: its name, then its arguments. Files have numbers in the order in
 * which they were created, and paths are relative to the directory of the format.
 * @typedef {['create' | 'remove' | 'sync-folder' | 'mark', string] | ['link' | 'rename', string, string]
 *   | ['write', number, number, string] | ['cut', number, number] | ['sync' | 'sync-newest', number]} Operation
 */

/** Calls that do not change what a crash leaves. */
const HARMLESS = new Set(['fcntl', 'dup', 'dup2', 'dup3', 'mmap'])

/** @typedef {{ number: number, size: number, changed: number }} File `changed`: the line of its last change that a sync must cover */

export class Operations {
  /** @type {Operation[]} */
  list = []
  /** Names of directories whose name no sync covered when a commit was acknowledged as durable. @type {Set<string>} */
  unsynced = new Set()
  /** @type {Map<string, File>} */
  #files
  #count
  /** The lines in which directories were created that are not durable yet, by path. @type {Map<string, number>} */
  #created = new Map()
  /** @type {Map<number, { file: File | undefined, path: string, appends: boolean, syncs: boolean, at: number }>} */
  #open = new Map()
  #changed = -1
  #root
  #base
  #marks

  /**
   * @param {readonly { path: string, size: number }[]} files in the directory of the format at the start
   * @param {{ root: string, base: string, marks: string }} places what a crash can change, the directory of the format in it, the marks
   */
  constructor(files, { root, base, marks }) {
    this.#files = new Map(files.map(({ path, size }, number) => [path, { number, size, changed: -1 }]))
    this.#count = files.length
    this.#root = root
    this.#base = base
    this.#marks = marks
  }

  /** @param {Call} call */
  take(call) {
    if (call.result < 0) return
    if (HARMLESS.has(call.name) && !/MAP_SHARED.*PROT_WRITE|PROT_WRITE.*MAP_SHARED/.test(call.args)) return
    const take = TAKEN[call.name]
    if (take === undefined)
      throw new Error(`the recording has an unknown call: ${call.name}(${call.args.slice(0, 200)})`)
    take(this, call)
  }

  /** @param {Call} call */
  opened(call) {
    const path = pathsOf(call.args)[0] ?? ''
    if (!this.#isInside(path)) return
    const flags = call.args.slice(call.args.lastIndexOf('"'))
    const name = this.#name(path)
    if (flags.includes('O_CREAT') && !this.#files.has(name)) this.#create(call, name)
    const file = this.#files.get(name)
    if (flags.includes('O_TRUNC') && file?.size !== 0) throw new Error(`${path} was emptied when it was opened`)
    this.#open.set(call.result, {
      file,
      path,
      appends: flags.includes('O_APPEND'),
      syncs: /O_D?SYNC/.test(flags),
      at: 0,
    })
  }

  /** @param {Call} call @param {number | undefined} given where, undefined: at the position of the descriptor */
  written(call, given) {
    const { number, path } = descriptorOf(call.args)
    const bytes = Buffer.concat(textsOf(call.args)).subarray(0, call.result)
    if (path === this.#marks) return this.#mark(bytes.toString().trim())
    if (!this.#isInside(path)) return
    const { file, open } = this.#fileOf(number, call)
    const offset = open.appends ? file.size : (given ?? open.at)
    if (given === undefined) open.at = offset + bytes.length
    file.size = Math.max(file.size, offset + bytes.length)
    this.list.push(['write', file.number, offset, bytes.toString('hex')])
    if (open.syncs) this.list.push(['sync-newest', file.number])
    else file.changed = call.end
  }

  /** @param {Call} call */
  cut(call) {
    const { file } = this.#fileOf(descriptorOf(call.args).number, call)
    const length = Number(/, (\d+)$/.exec(call.args)?.[1])
    if (length > file.size) throw new Error(`a file was extended by ftruncate: ${call.args}`)
    Object.assign(file, { size: length, changed: call.end })
    this.list.push(['cut', file.number, length])
  }

  /** @param {Call} call */
  synced(call) {
    const { number, path } = descriptorOf(call.args)
    if (!this.#isInside(path)) return
    const file = this.#open.get(number)?.file
    if ((file ?? { changed: this.#changed }).changed > call.begin)
      throw new Error(`${path} changed while it was synced`)
    if (file !== undefined) return void this.list.push(['sync', file.number])
    for (const [created, line] of this.#created)
      if (dirname(created) === path && line < call.begin) this.#created.delete(created)
    if (path.length >= this.#base.length) this.list.push(['sync-folder', this.#name(path)])
  }

  /** @param {'link' | 'rename'} kind @param {Call} call */
  named(kind, call) {
    const [source = '', target = ''] = pathsOf(call.args).map((path) => this.#name(path))
    const file = this.#files.get(source)
    if (file === undefined) throw new Error(`not a file of the cache: ${source}`)
    if (kind === 'rename') this.#files.delete(source)
    this.#files.set(target, file)
    this.#rename(call, [kind, source, target])
  }

  /** @param {Call} call */
  removed(call) {
    const path = pathsOf(call.args)[0] ?? ''
    const name = this.#isInside(path) ? this.#name(path) : ''
    if (this.#files.delete(name)) this.#rename(call, ['remove', name])
    else this.#created.delete(path)
  }

  /** @param {Call} call */
  directory(call) {
    const path = pathsOf(call.args)[0] ?? ''
    if (this.#isInside(path) && path !== this.#root) this.#created.set(path, call.end)
  }

  /** @param {string} text */
  #mark(text) {
    for (const line of text.split('\n')) {
      if (line.endsWith('durable'))
        for (const path of this.#created.keys()) this.unsynced.add(path.slice(this.#root.length + 1))
      this.list.push(['mark', line])
    }
  }

  /** @param {Call} call @param {string} name */
  #create(call, name) {
    this.#files.set(name, { number: this.#count++, size: 0, changed: -1 })
    this.#rename(call, ['create', name])
  }

  /** @param {Call} call @param {Operation} operation a change of names */
  #rename(call, operation) {
    this.#changed = call.end
    this.list.push(operation)
  }

  /** @param {string} path */
  #isInside(path) {
    return path === this.#root || path.startsWith(`${this.#root}/`)
  }

  /** The path below the directory of the format. @param {string} path */
  #name(path) {
    if (path === this.#base || this.#base.startsWith(path)) return ''
    if (!path.startsWith(`${this.#base}/`)) throw new Error(`a file outside of the directory of the format: ${path}`)
    return path.slice(this.#base.length + 1)
  }

  /** @param {number} number @param {Call} call */
  #fileOf(number, call) {
    const open = this.#open.get(number)
    if (open?.file === undefined)
      throw new Error(`not an open file of the cache: ${call.name}(${call.args.slice(0, 100)})`)
    return { file: open.file, open }
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
  ftruncate: (operations, call) => operations.cut(call),
  fsync: (operations, call) => operations.synced(call),
  fdatasync: (operations, call) => operations.synced(call),
  link: (operations, call) => operations.named('link', call),
  linkat: (operations, call) => operations.named('link', call),
  rename: (operations, call) => operations.named('rename', call),
  renameat: (operations, call) => operations.named('rename', call),
  renameat2: (operations, call) => operations.named('rename', call),
  unlink: (operations, call) => operations.removed(call),
  unlinkat: (operations, call) => operations.removed(call),
  rmdir: (operations, call) => operations.removed(call),
  mkdir: (operations, call) => operations.directory(call),
}
