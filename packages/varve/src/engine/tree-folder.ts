/**
 * Open folders of a tree, for the WebAssembly engine: every step is one name in an open folder, and no link is followed,
 * whatever happens to paths meanwhile. On Linux `/proc/self/fd/<n>/<name>` is that very thing. Elsewhere, and if the host of
 * this process permits only other paths, a folder is a path that is looked at before and after it is opened; a link planted
 * between two looks is found, but what was done in that moment is done.
 */
import type * as fs from 'node:fs'
import { builtin } from '../host/builtin.ts'
import { makeDirectory, errorCode, refusal } from '../host/permission.ts'
import { EngineFailure } from './answers.ts'

/** What a failure of a file operation is called. */
const CODES: Readonly<Record<string, string>> = {
  EACCES: 'PERMISSION',
  EPERM: 'PERMISSION',
  EROFS: 'PERMISSION',
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EFBIG: 'DISK_FULL',
}

/** Error codes for a file of another type where a directory or file is expected. */
const BLOCKS: ReadonlySet<string> = new Set(['ENOTDIR', 'EISDIR', 'ENOTEMPTY', 'EEXIST', 'ELOOP'])

export class TreeFolder {
  readonly #files: typeof fs
  readonly #path: string
  readonly #handle: number

  private constructor(files: typeof fs, path: string, follows: boolean) {
    const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = files.constants
    this.#files = files
    if (process.platform === 'win32') {
      if (!files.lstatSync(path).isDirectory() && !follows) throw notAFolder(path)
      this.#handle = -1
    } else {
      this.#handle = openFolder(files, path, O_RDONLY | O_DIRECTORY | (follows ? 0 : O_NOFOLLOW))
    }
    this.#path = this.#handle >= 0 && hasProc(files) ? `/proc/self/fd/${this.#handle}` : path
  }

  /** The root of a tree. Its own path may lead through links: that is what the caller named. */
  static root(files: typeof fs, path: string): TreeFolder {
    return new TreeFolder(files, path, true)
  }

  /** Throws ENOTDIR for a link and for everything else that is not a directory. */
  open(name: string): TreeFolder {
    const path = this.at(name)
    if (this.#path.startsWith('/proc/')) return new TreeFolder(this.#files, path, false)
    const before = this.#files.lstatSync(path)
    const folder = new TreeFolder(this.#files, path, false)
    const after = this.#files.lstatSync(path)
    if (after.isDirectory() && before.ino === after.ino) return folder
    folder.close()
    throw notAFolder(path)
  }

  /** The path of a name here. */
  at(name: string): string {
    return `${this.#path}/${name}`
  }

  close(): void {
    if (this.#handle >= 0) this.#files.closeSync(this.#handle)
  }
}

/** From the root of a tree to the folder of a path, and from there to the next one. */
export class TreeWalker {
  readonly #files: typeof fs
  readonly #root: TreeFolder
  readonly #creates: boolean
  #last: { readonly parent: string; readonly folder: TreeFolder } | undefined

  constructor(files: typeof fs, root: string, creates: boolean) {
    this.#files = files
    this.#creates = creates
    try {
      if (creates) makeDirectory(files, root)
      this.#root = TreeFolder.root(files, root)
    } catch (error) {
      throw fileFailure('open', root, error)
    }
  }

  /** The open folder and the name in it. The path has passed the rules. */
  go(path: string): { readonly folder: TreeFolder; readonly name: string } {
    const slash = path.lastIndexOf('/')
    if (slash < 0) return { folder: this.#root, name: path }
    const parent = path.slice(0, slash)
    if (this.#last?.parent !== parent) {
      this.#leave()
      this.#last = { parent, folder: this.#open(path, parent.split('/')) }
    }
    return { folder: this.#last.folder, name: path.slice(slash + 1) }
  }

  close(): void {
    this.#leave()
    this.#root.close()
  }

  #leave(): void {
    this.#last?.folder.close()
    this.#last = undefined
  }

  #open(path: string, parts: readonly string[]): TreeFolder {
    let folder = this.#root
    for (const part of parts) {
      const before = folder
      try {
        folder = this.#step(before, part)
      } catch (error) {
        throw blockedOr(path, part, error)
      } finally {
        if (before !== this.#root) before.close()
      }
    }
    return folder
  }

  #step(folder: TreeFolder, name: string): TreeFolder {
    try {
      return folder.open(name)
    } catch (error) {
      if (!this.#creates || codeOf(error) !== 'ENOENT') throw error
    }
    try {
      this.#files.mkdirSync(folder.at(name))
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    return folder.open(name)
  }
}

/** The code of what a file operation threw. */
export function codeOf(error: unknown): string | undefined {
  const code = errorCode(error)
  return typeof code === 'string' ? code : undefined
}

/** A failed file operation, as the native engine reports it. */
export function fileFailure(operation: string, path: string, error: unknown): EngineFailure {
  if (error instanceof EngineFailure) return error
  const text = error instanceof Error ? error.message : String(error)
  return new EngineFailure(CODES[codeOf(error) ?? ''] ?? 'IO', `cannot ${operation} '${path}': ${text}`, {
    cause: error,
  })
}

/** The failure to reach a path in whose way `part` may be. */
export function blockedOr(path: string, part: string, error: unknown): EngineFailure {
  if (!BLOCKS.has(codeOf(error) ?? '')) return fileFailure('reach', path, error)
  const text = `${JSON.stringify(path)} is refused: it is blocked by ${JSON.stringify(part)} in the target, which is not replaced; remove it`
  return new EngineFailure('UNSAFE_PATH', text, { cause: error })
}

function openFolder(files: typeof fs, path: string, flags: number): number {
  try {
    return files.openSync(path, flags)
  } catch (error) {
    throw codeOf(error) === 'ELOOP' ? notAFolder(path) : error
  }
}

function notAFolder(path: string): Error {
  return Object.assign(new Error(`'${path}' is not a directory`), { code: 'ENOTDIR' })
}

const isAllowed = (path: string): boolean =>
  (['read', 'write'] as const).every((action) => refusal(action, path) === undefined)

let proc: boolean | undefined

/** Whether what is open has a path of its own, by its number. */
function hasProc(files: typeof fs): boolean {
  proc ??= process.platform === 'linux' && isAllowed('/proc/self/fd') && files.existsSync('/proc/self/fd')
  return proc
}

/** `node:fs`, which all calls for files need. */
export function hostFiles(): typeof fs {
  const files = builtin('node:fs')
  if (files === undefined) throw new EngineFailure('IO', 'cache.files needs node:fs, which this host does not have')
  return files
}

/** Opens a file without following a link or waiting for the other end of a FIFO. */
export function openAny(files: typeof fs, path: string): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = files.constants
  return files.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
}

/** A file of the cache, with a path to the open file; undefined if it is not a regular file of that length. */
export function openStored(
  files: typeof fs,
  place: string,
  size: number,
): { readonly handle: number; readonly path: string } | undefined {
  let handle = -1
  try {
    handle = openAny(files, place)
    const stat = files.fstatSync(handle)
    if (stat.isFile() && stat.size === size) return { handle, path: hasProc(files) ? `/proc/self/fd/${handle}` : place }
  } catch {
    // It does not exist or cannot be opened.
  }
  if (handle >= 0) files.closeSync(handle)
  return undefined
}
