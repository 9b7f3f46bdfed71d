/**
 * Restoring a tree over `node:fs`, as `crates/disk/src/tree/restore.rs` does it natively: what is there stays, by what is
 * known of it or by its digest; everything else is made under a temporary name, verified, and renamed into place.
 */
import type * as fs from 'node:fs'
import type { RestoreMode } from './engine.ts'
import { type FileEntry, type FileItem, isFile } from '../values/manifest.ts'
import { EngineFailure } from './answers.ts'
import { blockedOr, codeOf, fileFailure, openAny, openStored, type TreeFolder, type TreeWalker } from './tree-folder.ts'

/** Path, digest, executable, bytes, when its content and when anything of it changed (ns since 1970), its number in the file system. */
export type RestoredFile = readonly [string, string, boolean, number, string, string, string]

/** What is remembered of a restore; `crates/bindings/src/restored.rs`. */
export interface RestoreRecord {
  readonly at: string
  readonly files: readonly RestoredFile[]
}

/** What a restore needs of the engine. */
export interface Contents {
  /** Undefined if it is lost. */
  read(file: FileItem): Uint8Array | undefined
  digestOf(content: Uint8Array): string
  /** The file of the cache; undefined if there is no such file. */
  placeOf(digest: string): string | undefined
  /** Whether files of the cache may be made read-only. */
  readonly mayLink: boolean
}

/** What became of an entry. */
export type Outcome = 'unchanged' | 'copied' | 'cloned' | 'linked'

/** A file that changed less than this before it was known may change again without a new time. */
const RACY_NS = 2_000_000_000n

let temporaries = 0

export class TreeRestore {
  readonly #files: typeof fs
  readonly #walker: TreeWalker
  readonly #contents: Contents
  readonly #mode: RestoreMode
  readonly #known: ReadonlyMap<string, RestoredFile>
  readonly #knownNs: bigint
  #clones: boolean
  /** What to remember. */
  readonly placed: RestoredFile[] = []
  /** Whether all that was remembered was enough. */
  isTrusted = true

  constructor(files: typeof fs, walker: TreeWalker, contents: Contents, mode: RestoreMode, remembered: RestoreRecord) {
    this.#files = files
    this.#walker = walker
    this.#contents = contents
    this.#mode = mode
    this.#known = new Map(remembered.files.map((file) => [file[0], file]))
    this.#knownNs = BigInt(remembered.at)
    this.#clones = mode === 'auto' || mode === 'reflink'
  }

  place(entry: FileEntry): Outcome {
    const { folder, name } = this.#walker.go(entry.path)
    if (isFile(entry)) return this.#unchanged(folder, name, entry) ? 'unchanged' : this.#make(folder, name, entry)
    try {
      return 'link' in entry ? this.#placeLink(folder, name, entry.link) : this.#placeFolder(folder, name)
    } catch (error) {
      throw blockedOr(entry.path, name, error)
    }
  }

  #placeFolder(folder: TreeFolder, name: string): Outcome {
    try {
      this.#files.mkdirSync(folder.at(name))
      return 'copied'
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      folder.open(name).close()
      return 'unchanged'
    }
  }

  #placeLink(folder: TreeFolder, name: string, target: string): Outcome {
    const files = this.#files
    const there = files.lstatSync(folder.at(name), { throwIfNoEntry: false })
    if (there?.isSymbolicLink() === true && files.readlinkSync(folder.at(name)) === target) return 'unchanged'
    const [temporary] = fresh((path) => files.symlinkSync(target, path), folder)
    this.#finish(folder, temporary, name)
    return 'copied'
  }

  /** Whether what is there is what it should be. */
  #unchanged(folder: TreeFolder, name: string, file: FileItem): boolean {
    try {
      const stat = this.#files.lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })
      if (stat === undefined || !this.#looksLike(stat, file)) return false
      const known = this.#known.get(file.path)
      const newestNs = stat.mtimeNs > changeOf(stat) ? stat.mtimeNs : changeOf(stat)
      if (
        known !== undefined &&
        known.every((field, index) => field === knownOf(file, stat)[index]) &&
        newestNs + RACY_NS < this.#knownNs
      ) {
        this.placed.push(known)
        return true
      }
      const opened = this.#readIfSame(folder.at(name), file)
      if (opened !== undefined) this.#remember(file, opened)
      return opened !== undefined
    } catch (error) {
      throw blockedOr(file.path, name, error)
    }
  }

  /** What an open file is, if its content is that of `file`. */
  #readIfSame(path: string, file: FileItem): fs.BigIntStats | undefined {
    let handle: number
    try {
      handle = openAny(this.#files, path)
    } catch (error) {
      // It just changed, or may not be read, so it is replaced.
      if (['ENOENT', 'ELOOP', 'ENXIO', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return undefined
      throw error
    }
    try {
      const stat = this.#files.fstatSync(handle, { bigint: true })
      return this.#looksLike(stat, file) && this.#hasContent(handle, file) ? stat : undefined
    } finally {
      this.#files.closeSync(handle)
    }
  }

  /** Whether an open file of that length has the content; not a byte more is read, whatever becomes of it meanwhile. */
  #hasContent(handle: number, file: FileItem): boolean {
    const content = new Uint8Array(file.size)
    let filled = 0
    for (let count = -1; filled < file.size && count !== 0; filled += count) {
      count = this.#files.readSync(handle, content, filled, file.size - filled, filled)
    }
    return filled === file.size && this.#contents.digestOf(content) === file.digest
  }

  /** Whether this can be the file, by everything except its content. A file with other names has other users. */
  #looksLike(stat: fs.BigIntStats, file: FileItem): boolean {
    const isPrivate = stat.nlink === 1n || this.#mode === 'hardlink'
    const hasMode = process.platform === 'win32' || ((stat.mode & 0o111n) !== 0n) === (file.executable === true)
    return stat.isFile() && stat.size === BigInt(file.size) && hasMode && (stat.mode & 0o7000n) === 0n && isPrivate
  }

  #make(folder: TreeFolder, name: string, file: FileItem): Outcome {
    const linked = this.#mode === 'hardlink' && this.#contents.mayLink && this.#link(folder, name, file)
    if (linked) return 'linked'
    const files = this.#files
    const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = files.constants
    const mode = file.executable === true ? 0o755 : 0o644
    const create = (path: string): number => files.openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
    let temporary = ''
    let handle = -1
    try {
      const cloned = this.#clone(folder, file, mode)
      if (cloned !== undefined) {
        temporary = cloned
        handle = openAny(files, folder.at(temporary))
        if (!this.#hasContent(handle, file)) throw lost(file)
      } else {
        const content = this.#contents.read(file)
        if (content === undefined) throw lost(file)
        ;[temporary, handle] = fresh(create, folder)
        files.writeFileSync(handle, content)
      }
      this.#finish(folder, temporary, name)
      this.#remember(file, files.fstatSync(handle, { bigint: true })) // renaming counts as a change
      return cloned === undefined ? 'copied' : 'cloned'
    } catch (error) {
      if (temporary !== '') files.rmSync(folder.at(temporary), { force: true })
      throw codeOf(error) === 'EISDIR' || codeOf(error) === 'ENOTEMPTY'
        ? blockedOr(file.path, name, error)
        : fileFailure('write', file.path, error)
    } finally {
      if (handle >= 0) files.closeSync(handle)
    }
  }

  /** A temporary file that shares its blocks with the cache's; undefined if the file system cannot share blocks. */
  #clone(folder: TreeFolder, file: FileItem, mode: number): string | undefined {
    const place = this.#clones && file.size > 0 ? this.#contents.placeOf(file.digest) : undefined
    if (place === undefined) return undefined
    const files = this.#files
    const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } = files.constants
    const source = openStored(files, place, file.size)
    if (source === undefined) return undefined // for the engine to judge
    try {
      const [temporary] = fresh(
        (path) => files.copyFileSync(source.path, path, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE),
        folder,
      )
      files.chmodSync(folder.at(temporary), mode & ~process.umask())
      return temporary
    } catch (error) {
      if (this.#mode === 'reflink') throw error
      this.#clones = false
      return undefined
    } finally {
      files.closeSync(source.handle)
    }
  }

  /** Makes a hard link to the file of the cache; false if that is impossible, or the file needs another mode. */
  #link(folder: TreeFolder, name: string, file: FileItem): boolean {
    const files = this.#files
    const source = this.#contents.placeOf(file.digest)
    if (source === undefined) return false
    let temporary = ''
    try {
      temporary = fresh((path) => files.linkSync(source, path), folder)[0]
      const opened = openStored(files, folder.at(temporary), file.size)
      if (opened === undefined) return false
      try {
        if (!this.#mayBeLinked(opened.handle, file)) return false
        files.renameSync(folder.at(temporary), folder.at(name))
        // Renaming one name of a file to another of its names does nothing.
        files.rmSync(folder.at(temporary), { force: true })
        this.#remember(file, files.fstatSync(opened.handle, { bigint: true }))
        return true
      } finally {
        files.closeSync(opened.handle)
      }
    } catch (error) {
      if (temporary === '') return false
      throw blockedOr(file.path, name, error)
    } finally {
      if (temporary !== '') files.rmSync(folder.at(temporary), { force: true })
    }
  }

  /** Whether an open file of the cache has the content, and the mode that its other names need or one that can change. */
  #mayBeLinked(handle: number, file: FileItem): boolean {
    const files = this.#files
    if (!this.#hasContent(handle, file)) return false
    const wanted = file.executable === true ? 0o555 : 0o444
    const mode = files.fstatSync(handle).mode & 0o7777
    if (mode === 0o600) files.fchmodSync(handle, wanted)
    return mode === wanted || mode === 0o600
  }

  #finish(folder: TreeFolder, temporary: string, name: string): void {
    const files = this.#files
    try {
      files.renameSync(folder.at(temporary), folder.at(name))
    } catch (error) {
      files.rmSync(folder.at(temporary), { force: true })
      // Windows calls a folder in the way a lack of rights.
      const isFolder = files.lstatSync(folder.at(name), { throwIfNoEntry: false })?.isDirectory() === true
      throw isFolder ? Object.assign(new Error('a folder is in the way', { cause: error }), { code: 'EISDIR' }) : error
    }
  }

  #remember(file: FileItem, stat: fs.BigIntStats): void {
    this.isTrusted = false
    this.placed.push(knownOf(file, stat))
  }
}

function knownOf(file: FileItem, stat: fs.BigIntStats): RestoredFile {
  return [
    file.path,
    file.digest,
    file.executable === true,
    file.size,
    String(stat.mtimeNs),
    String(changeOf(stat)),
    String(stat.ino),
  ]
}

/** When anything of a file changed; 0 on Windows, where the native engine does not learn it. */
function changeOf(stat: fs.BigIntStats): bigint {
  return process.platform === 'win32' ? 0n : stat.ctimeNs
}

function lost(file: FileItem): EngineFailure {
  const text = `the content of ${JSON.stringify(file.path)} is missing or damaged; treat it as a miss and create it again`
  return new EngineFailure('FILES_DAMAGED', text)
}

/** Creates a file with a name that is not in use. */
function fresh<T>(make: (path: string) => T, folder: TreeFolder): [name: string, made: T] {
  for (;;) {
    const name = `.varve-${process.pid}-${temporaries++}.tmp`
    try {
      return [name, make(folder.at(name))]
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}
