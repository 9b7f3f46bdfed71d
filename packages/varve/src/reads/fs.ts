/**
 * The functions of `node:fs` that read or write by path, and what each learns. Reading by a file number is covered by the
 * call that opened it.
 */
import type * as fs from 'node:fs'
import type * as nodePath from 'node:path'
import type * as nodeUrl from 'node:url'
import { builtin, hostModule } from '../host/builtin.ts'
import { lookAt } from '../inputs/stamp.ts'
import type { ReadKind } from '../inputs/input.ts'
import { type Installation, type Sink, unrecordedNow } from './sink.ts'
import { noteSize } from './sizes.ts'
import { type Note, replace } from './wrapper.ts'

/** What a function does with its first arguments. */
type Access =
  | ReadKind
  | 'open'
  | 'stream'
  | 'look'
  | 'write'
  | 'symlink'
  | 'copy'
  | 'copy all'
  | 'move'
  | 'make'
  | 'glob'
  | 'variables'

/** An absolute POSIX path that resolving does not change. A test takes 0.1 us, resolving 1 us and a kilobyte of garbage, for each read of a build. */
const RESOLVED = /^(?:\/(?!\.{1,2}(?:\/|$))[^/]+)+$/

/** Each also with `Sync` at its end, and without callback in `fs.promises`. */
const ACCESS: Readonly<Record<string, Access>> = {
  readFile: 'content',
  createReadStream: 'stream',
  openAsBlob: 'content',
  open: 'open',
  stat: 'look',
  lstat: 'look',
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
  mkdir: 'make',
  rm: 'write',
  rmdir: 'write',
  unlink: 'write',
  copyFile: 'copy',
  cp: 'copy all',
  link: 'copy',
  symlink: 'symlink',
  rename: 'move',
  readJson: 'content', // of the file systems of bundlers
}

const WRITES: ReadonlySet<Access> = new Set(['write', 'symlink', 'copy', 'copy all', 'move', 'make'])

interface Modules {
  readonly files: typeof fs
  readonly paths: typeof nodePath
  readonly urls: typeof nodeUrl
}

/** Wraps the functions of `node:fs` and `fs.promises`. */
export function installFs(installation: Installation): void {
  const modules = modulesOfHost()
  if (modules === undefined) return
  for (const [method, note] of notes()) {
    replace(installation, modules.files, method, note)
    replace(installation, modules.files.promises, method, note)
  }
  replace(installation, globalThis.process, 'loadEnvFile', noteOf('variables', modules))
}

/** Wraps those of another object with the methods of `node:fs`, made by a library before. */
export function installClone(installation: Installation, clone: object): void {
  for (const [method, note] of notes()) replace(installation, clone, method, note)
}

/** What each method of `node:fs` learns. */
export function notes(): (readonly [method: string, note: Note])[] {
  const modules = modulesOfHost()
  if (modules === undefined) return []
  return Object.entries(ACCESS).flatMap(([name, access]) => {
    const note: Note = Object.assign(noteOf(access, modules), {
      isWrite: WRITES.has(access),
      isWhole: access === 'content',
    })
    return [
      [name, note],
      [`${name}Sync`, note],
    ] as const
  })
}

function modulesOfHost(): Modules | undefined {
  const [files, paths, urls] = [hostModule('node:fs'), builtin('node:path'), builtin('node:url')]
  return files === undefined || paths === undefined || urls === undefined ? undefined : { files, paths, urls }
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
    case 'stream':
      return (sink, [target, options]) => {
        // Options that are a text are flags for `open`, and an encoding for a stream.
        const flags =
          typeof options === 'object' && options !== null
            ? Reflect.get(options, 'flags')
            : access === 'open'
              ? options
              : undefined
        const isRead = isReading(modules.files, flags)
        // A file that is opened to append to it may be read, too.
        if (isRead || flags === 'a+' || flags === 'as+') read(sink, 'content', target)
        if (isWriting(modules.files, flags)) write(sink, target)
      }
    case 'write':
      return (sink, [target]) => write(sink, target)
    case 'symlink':
      return (sink, [, target]) => write(sink, target)
    case 'make':
      return (sink, [target]) => noteMissing(modules, sink, path(target))
    case 'copy':
    case 'copy all':
    case 'move':
      return (sink, [source, target]) => {
        read(sink, 'content', source)
        if (access === 'copy all') copyAll(modules, sink, path(source), path(target))
        if (access === 'move') write(sink, source)
        write(sink, target)
      }
    case 'glob':
      return (sink, [patterns, options]) => {
        const cwd = path(optionOf(options, 'cwd') ?? '.')
        for (const pattern of [patterns].flat())
          if (cwd !== undefined) sink.read('tree', modules.paths.resolve(cwd, fixedPart(String(pattern))))
      }
    case 'variables':
      return (sink, [target = '.env']) => {
        read(sink, 'content', target)
        noteVariables(modules, sink, path(target))
      }
    case 'look':
      return (sink, args) => {
        const target = path(args[0])
        if (target === undefined) return undefined
        sink.read('type', target)
        return noteSize(sink, target, args)
      }
    case 'list':
      return (sink, [target, options]) => read(sink, optionOf(options, 'recursive') === true ? 'tree' : 'list', target)
    default:
      return (sink, [target]) => read(sink, access, target)
  }
}

/** The absolute path that a call names; undefined for a file number, which something opened before. */
function absolute({ paths, urls }: Modules, given: unknown): string | undefined {
  try {
    if (typeof given === 'string') return paths.sep === '/' && RESOLVED.test(given) ? given : paths.resolve(given)
    if (given instanceof URL) return urls.fileURLToPath(given)
    return given instanceof Uint8Array ? paths.resolve(Buffer.from(given).toString()) : undefined
  } catch {
    return undefined // the call itself reports the error
  }
}

function optionOf(options: unknown, name: string): unknown {
  return typeof options === 'object' && options !== null ? Reflect.get(options, name) : undefined
}

/** A folder is made with those above it. One that is there is not written. */
function noteMissing({ files, paths }: Modules, sink: Sink, folder: string | undefined): void {
  for (
    let at = folder;
    at !== undefined && unrecordedNow(() => lookAt(files, at ?? '')) === 'missing';
    at = paths.dirname(at)
  )
    sink.wrote(at)
}

/** A file of variables sets those that are not set. */
function noteVariables({ files }: Modules, sink: Sink, path: string | undefined): void {
  const [given, present] = unrecordedNow(() => {
    try {
      return [builtin('node:util')?.parseEnv(files.readFileSync(path ?? '', 'utf8')) ?? {}, globalThis.process.env]
    } catch {
      return [{}, {}] // the call itself reports the error
    }
  })
  for (const name of Object.keys(given)) {
    sink.variable(name, false)
    if (present[name] === undefined) sink.changedVariable(name)
  }
}

/** All files below a folder are read, and written below another one. */
function copyAll({ files, paths }: Modules, sink: Sink, source: string | undefined, target: string | undefined): void {
  if (source === undefined || target === undefined) return
  const names = unrecordedNow(() => {
    try {
      return files.readdirSync(source, { recursive: true, encoding: 'utf8' })
    } catch {
      return [] // a file, or what the call itself reports
    }
  })
  sink.read('tree', source)
  for (const name of names) {
    sink.read('content', paths.join(source, name))
    sink.wrote(paths.join(target, name))
  }
}

/** The folders at the beginning of a pattern that have no wildcard. */
function fixedPart(pattern: string): string {
  const parts = pattern.split(/[\\/]/)
  const at = parts.findIndex((part) => /[*?[\]{}()!+@]/.test(part))
  return (at === -1 ? parts : parts.slice(0, at)).join('/') || (pattern.startsWith('/') ? '/' : '.')
}

/** Whether a file that is opened with these flags may be written. */
function isWriting({ constants }: typeof fs, flags: unknown): boolean {
  if (typeof flags === 'number') return (flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0
  return typeof flags === 'string' && /[wa+]/.test(flags)
}

/** Whether a file that is opened with these flags may be read. */
function isReading({ constants }: typeof fs, flags: unknown): boolean {
  if (typeof flags === 'number') return (flags & (constants.O_WRONLY | constants.O_TRUNC)) === 0
  return typeof flags !== 'string' || !/^[wax]/.test(flags)
}
