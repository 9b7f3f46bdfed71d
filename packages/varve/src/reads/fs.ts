/**
 * The functions of `node:fs` that read or write by path, and what each learns. Reading by a file number is covered by the
 * call that opened it.
 */
import type * as fs from 'node:fs'
import type * as nodePath from 'node:path'
import type * as nodeUrl from 'node:url'
import { builtin, hostModule } from '../host/builtin.ts'
import { variable } from '../host/permission.ts'
import { lookAt } from '../inputs/stamp.ts'
import type { ReadKind } from '../inputs/input.ts'
import {
  type Installation,
  type Note,
  type Sink,
  sharedInstallation,
  isCallable,
  noted,
  replace,
  sinkNow,
  unseen,
  unrecordedNow,
} from './sink.ts'

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
  | 'remove'
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
  rm: 'remove',
  rmdir: 'remove',
  unlink: 'remove',
  copyFile: 'copy',
  cp: 'copy all',
  link: 'copy',
  symlink: 'symlink',
  rename: 'move',
  readJson: 'content', // of the file systems of bundlers
}

const WRITES: ReadonlySet<Access> = new Set(['write', 'symlink', 'copy', 'copy all', 'move', 'make', 'remove'])

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
  const write = (sink: Sink, given: unknown, isRemoval = false): void => {
    const target = path(given)
    if (target !== undefined) sink.wrote(target, isRemoval)
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
    case 'remove':
      return (sink, [target]) => write(sink, target, true)
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
        if (access === 'move') write(sink, source, true)
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
  for (let at = folder; at !== undefined && lookAt(files, at) === 'missing'; at = paths.dirname(at)) sink.wrote(at)
}

/** A file of variables sets those that are not set. */
function noteVariables({ files }: Modules, sink: Sink, path: string | undefined): void {
  let given: object = {}
  try {
    given = builtin('node:util')?.parseEnv(files.readFileSync(path ?? '', 'utf8')) ?? {}
  } catch {
    // The call itself reports the error.
  }
  for (const name of Object.keys(given)) {
    sink.variable(name, false)
    if (variable(name) === undefined) sink.changedVariable(name)
  }
}

/** All files below a folder are read, and written below another one. */
function copyAll({ files, paths }: Modules, sink: Sink, source: string | undefined, target: string | undefined): void {
  if (source === undefined || target === undefined) return
  let names: string[] = []
  try {
    names = files.readdirSync(source, { recursive: true, encoding: 'utf8' })
  } catch {
    // A file, or what the call itself reports.
  }
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

/**
 * Sizes of files, as `stat` and `lstat` return them. Most code asks only what a path is, so a file whose size is taken counts as read then: its
 * content is an input. Times do not count: a checkout changes them and means nothing by it.
 */

/** Watches what a call returns, promises, or gives to its callback, which is the last of `args`. */
export function noteSize(sink: Sink, path: string, args: readonly unknown[]): (result: unknown) => unknown {
  const callback = args.at(-1)
  if (isCallable(callback)) {
    Reflect.set(args, args.length - 1, function (this: unknown, error: unknown, stats: unknown): unknown {
      return Reflect.apply(callback, this, stats === undefined ? [error] : [error, watched(sink, path, stats)])
    })
  }
  return (result) =>
    result instanceof Promise ? result.then((stats) => watched(sink, path, stats)) : watched(sink, path, result)
}

/** The statistics of a file, whose size is a property that reports its use. */
function watched(sink: Sink, path: string, stats: unknown): unknown {
  if (typeof stats !== 'object' || stats === null || !isFile(stats)) return stats
  const property = Object.getOwnPropertyDescriptor(stats, 'size')
  if (property === undefined || !('value' in property) || property.configurable !== true) return stats
  const { value, enumerable = true }: { value?: unknown; enumerable?: boolean } = property
  const define = (size: unknown): void =>
    void Object.defineProperty(stats, 'size', { value: size, configurable: true, enumerable, writable: true })
  const get = (): unknown => {
    unrecordedNow(() => sink.read('content', path, true))
    return value
  }
  return Object.defineProperty(stats, 'size', { configurable: true, enumerable, get, set: define })
}

function isFile(stats: object): boolean {
  const ask: unknown = Reflect.get(stats, 'isFile')
  return isCallable(ask) && Reflect.apply(ask, stats, []) === true
}

const views: WeakMap<object, object> = new WeakMap()

/**
 * A view of an object with methods of `node:fs`. What code reads through it counts, also if the tool has it in memory, or took its
 * functions out of `node:fs` before the recorder was installed.
 */
export function recordedFiles<Files extends object>(files: Files): Files
export function recordedFiles(files: object): object {
  const known = views.get(files)
  if (known !== undefined) return known
  const view: object = Object.create(files)
  for (const [method, note] of notes()) if (Reflect.has(files, method)) defineRecorded(view, files, method, note)
  views.set(files, view)
  views.set(view, view)
  return view
}

/** Each use looks for the method, because others may replace it later. */
function defineRecorded(view: object, files: object, method: string, note: Note): void {
  const get = (): unknown => {
    const original: unknown = Reflect.get(files, method)
    if (!isCallable(original)) return original
    return (...args: unknown[]): unknown => {
      const installed = sharedInstallation()
      const sink = installed === undefined ? undefined : sinkNow(installed)
      if (installed === undefined || sink === undefined) return Reflect.apply(original, files, args)
      const after = noted(installed, note, sink, args)
      const given = args.map((arg) => (isCallable(arg) ? callbackOf(installed, arg) : arg))
      // The object reads the disk for the call that was just noted, so its own read is not noted again.
      const result: unknown = unseen(installed, () => Reflect.apply(original, files, given))
      return isCallable(after) ? after(result) : result
    }
  }
  const set = (given: unknown): void => {
    Reflect.set(files, method, given)
  }
  Object.defineProperty(view, method, { configurable: true, enumerable: true, get, set })
}

/** The caller's callback. Its reads are recorded, even if it is called before the method returns. */
function callbackOf(installed: Installation, callback: (...args: unknown[]) => unknown): unknown {
  return function (this: unknown, ...args: unknown[]): unknown {
    const depth = installed.unrecorded
    installed.unrecorded = 0
    try {
      return Reflect.apply(callback, this, args)
    } finally {
      installed.unrecorded = depth
    }
  }
}
