/**
 * The functions of `node:fs` that read or write by path, and what each learns. Reading by a file number is covered by the
 * call that opened it.
 */
import type * as fs from 'node:fs'
import type * as nodePath from 'node:path'
import type * as nodeUrl from 'node:url'
import { builtin } from '../host/builtin.ts'
import type { ReadKind } from './kinds.ts'
import type { Installation, Sink } from './sink.ts'
import { type Note, replace } from './wrapper.ts'

/** What a function does with its first arguments. */
type Access = ReadKind | 'open' | 'write' | 'copy' | 'move' | 'glob'

/** Each also with `Sync` at its end, and without callback in `fs.promises`. */
const ACCESS: Readonly<Record<string, Access>> = {
  readFile: 'content',
  createReadStream: 'open',
  openAsBlob: 'content',
  open: 'open',
  stat: 'type',
  lstat: 'type',
  access: 'type',
  exists: 'type',
  readdir: 'list',
  opendir: 'list',
  realpath: 'link',
  readlink: 'link',
  glob: 'glob',
  writeFile: 'write',
  appendFile: 'write',
  createWriteStream: 'write',
  truncate: 'write',
  mkdir: 'write',
  rm: 'write',
  rmdir: 'write',
  unlink: 'write',
  copyFile: 'copy',
  cp: 'copy',
  link: 'copy',
  rename: 'move',
}

interface Modules {
  readonly files: typeof fs
  readonly paths: typeof nodePath
  readonly urls: typeof nodeUrl
}

/** Wraps the functions of `node:fs` and `fs.promises`. */
export function installFs(installation: Installation): void {
  const [files, paths, urls] = [builtin('node:fs'), builtin('node:path'), builtin('node:url')]
  if (files === undefined || paths === undefined || urls === undefined) return
  const modules = { files, paths, urls }
  for (const [name, access] of Object.entries(ACCESS)) {
    const note = noteOf(access, modules)
    replace(installation, files, name, note)
    replace(installation, files, `${name}Sync`, note)
    replace(installation, files.promises, name, note)
  }
}

/** Wraps those of another object with the methods of `node:fs`, made by a library before. */
export function installClone(installation: Installation, clone: object): void {
  const [files, paths, urls] = [builtin('node:fs'), builtin('node:path'), builtin('node:url')]
  if (files === undefined || paths === undefined || urls === undefined) return
  for (const [name, access] of Object.entries(ACCESS)) {
    const note = noteOf(access, { files, paths, urls })
    for (const method of [name, `${name}Sync`]) if (Reflect.has(clone, method)) replace(installation, clone, method, note)
  }
}

function noteOf(access: Access, modules: Modules): Note {
  const path = (given: unknown): string | undefined => absolute(modules, given)
  const read = (sink: Sink, kind: ReadKind, given: unknown): void => {
    const target = path(given)
    if (target !== undefined) sink.read(kind, target)
  }
  const write = (sink: Sink, given: unknown): void => {
    const target = path(given)
    if (target !== undefined) sink.wrote(target)
  }
  switch (access) {
    case 'open':
      return (sink, [target, options]) => (isReading(modules.files, flagsOf(options)) ? read(sink, 'content', target) : write(sink, target))
    case 'write':
      return (sink, [target]) => write(sink, target)
    case 'copy':
    case 'move':
      return (sink, [source, target]) => {
        read(sink, 'content', source)
        if (access === 'copy') read(sink, 'tree', source)
        if (access === 'move') write(sink, source)
        write(sink, target)
      }
    case 'glob':
      return (sink, [, options]) => read(sink, 'tree', optionOf(options, 'cwd') ?? '.')
    case 'list':
      return (sink, [target, options]) => read(sink, optionOf(options, 'recursive') === true ? 'tree' : 'list', target)
    default:
      return (sink, [target]) => read(sink, access, target)
  }
}

/** The absolute path that a call names; undefined for a file number, which something opened before. */
function absolute({ paths, urls }: Modules, given: unknown): string | undefined {
  try {
    if (typeof given === 'string') return paths.resolve(given)
    if (given instanceof URL) return urls.fileURLToPath(given)
    return given instanceof Uint8Array ? paths.resolve(Buffer.from(given).toString()) : undefined
  } catch {
    return undefined // the call itself reports the error
  }
}

function optionOf(options: unknown, name: string): unknown {
  return typeof options === 'object' && options !== null ? Reflect.get(options, name) : undefined
}

/** Flags stand by themselves (open) or in options (createReadStream). */
function flagsOf(options: unknown): unknown {
  return typeof options === 'object' && options !== null ? Reflect.get(options, 'flags') : options
}

/** Whether a file that is opened with these flags may be read. */
function isReading({ constants }: typeof fs, flags: unknown): boolean {
  if (typeof flags === 'number') return (flags & (constants.O_WRONLY | constants.O_TRUNC)) === 0
  return typeof flags !== 'string' || !/^[wax]/.test(flags)
}
