/**
 * A directory that several processes or machines share, as a store. No locks, so a process that is killed blocks no other:
 *
 *   <name>          version 1 of a blob
 *   <name>@/<n>     version n, from 2 on; the highest one counts, and its number is the etag
 *   .temporary/     files that are being written
 *
 *   1. A writer writes a temporary file and syncs it.
 *   2. It links the file to the name of the next version, which fails if that exists: another writer was first.
 *   3. From version 2 on it lists the versions again. If there is a higher one, the number had been free because older
 *      versions are removed, or another writer has replaced the blob already. Either way the outcome is `'conflict'`, and the
 *      caller reads the blob again.
 *   4. It removes versions that two newer ones have replaced.
 *
 * A writer that is killed leaves its temporary file. The first `delete`, which garbage collection calls, removes those that are a day old.
 */
import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { VarveError } from 'varve'
import { codeOf } from '../error-code.ts'
import { invalidOption } from '../options.ts'
import {
  type BlobStore,
  doesNotExist,
  encodeSegment,
  type Fetched,
  type GetOptions,
  type Head,
  type Listed,
  type PutOptions,
  type PutOutcome,
  segmentsOf,
  tooLarge,
} from './store.ts'
import { makeDirectory, disk } from '../host.ts'

const TEMPORARY = '.temporary'

/** Most bytes of one read. */
const READ_MAX = 1 << 30

/** No write takes this long. */
const TEMPORARY_MS = 86_400_000

/** A store in a directory, which the first write creates. The file system needs hard links. */
export function directory(path: string): BlobStore {
  if (typeof path !== 'string' || path === '')
    throw invalidOption('path of directory()', "a directory, for example '/mnt/team/varve'")
  return new DirectoryStore(resolve(path))
}

class DirectoryStore implements BlobStore {
  readonly label: string
  readonly capabilities = {
    range: true,
    createOnly: true,
    compareAndSwap: true,
    list: true,
    delete: true,
    bytesMax: 2 ** 31,
  }
  readonly #root: string
  #isTidied = false

  constructor(root: string) {
    this.#root = root
    this.label = `directory '${root}'`
  }

  async get(
    name: string,
    { range, ifNoneMatch, bytesMax = this.capabilities.bytesMax, signal }: GetOptions = {},
  ): Promise<Fetched | undefined> {
    const path = this.#pathOf(name)
    for (let missing = 1; ;) {
      signal?.throwIfAborted()
      const version = await newestVersion(path)
      const etag = String(version)
      const file = await absentAsUndefined(disk.promises.open(versionPath(path, version), OPENS))
      if (file === undefined) {
        if (version === missing) return this.#checkRoot()
        missing = version // removed since the list, because a newer version exists
        continue
      }
      try {
        const stats = await file.stat()
        if (!stats.isFile()) throw new VarveError('REMOTE_UNTRUSTED', `'${name}' of the remote is not a file`)
        if (ifNoneMatch === etag) return { bytes: new Uint8Array(), etag, unchanged: true }
        const start = Math.min(range?.start ?? 0, stats.size)
        const end = Math.min(range?.end ?? stats.size, stats.size)
        if (end - start > bytesMax) throw tooLarge(name, bytesMax)
        return { bytes: await readAll(file, start, Math.max(0, end - start)), etag }
      } catch (error) {
        throw storeError(error, `read '${name}' of ${this.label}`)
      } finally {
        await file.close()
      }
    }
  }

  async head(name: string): Promise<Head | undefined> {
    const path = this.#pathOf(name)
    const version = await newestVersion(path)
    const stats = await absentAsUndefined(disk.promises.stat(versionPath(path, version)))
    if (stats === undefined) await this.#checkRoot()
    return stats === undefined ? undefined : { size: stats.size, etag: String(version) }
  }

  async put(name: string, bytes: Uint8Array, { ifAbsent, ifMatch, signal }: PutOptions = {}): Promise<PutOutcome> {
    const path = this.#pathOf(name)
    const temporary = await this.#write(bytes)
    try {
      for (;;) {
        signal?.throwIfAborted()
        const found = await this.head(name)
        if (ifAbsent === true && found !== undefined) return 'exists'
        if (ifMatch !== undefined && found?.etag !== ifMatch) return 'conflict'
        const version = found === undefined ? 1 : Number(found.etag) + 1
        if (await publish(temporary, path, version)) return 'stored'
        if (ifAbsent === true) return 'exists'
        if (ifMatch !== undefined) return 'conflict'
      }
    } catch (error) {
      throw storeError(error, `write '${name}' to ${this.label}`)
    } finally {
      await disk.promises.rm(temporary, { force: true })
    }
  }

  async *list(prefix: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): AsyncIterable<Listed> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    for await (const { name, path } of blobsIn(
      folder === '' ? this.#root : this.#pathOf(folder.slice(0, -1)),
      folder,
    )) {
      signal?.throwIfAborted()
      if (!name.startsWith(prefix)) continue
      const stats = await absentAsUndefined(disk.promises.stat(versionPath(path, await newestVersion(path))))
      if (stats !== undefined) yield { name, size: stats.size, modified: stats.mtimeMs }
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const path of names.map((name) => this.#pathOf(name))) {
      await disk.promises.rm(path, { force: true })
      await disk.promises.rm(`${path}@`, { recursive: true, force: true })
    }
    if (!this.#isTidied) await this.#removeTemporary()
  }

  async missing(): Promise<string | undefined> {
    const stats = await absentAsUndefined(disk.promises.stat(this.#root))
    return stats === undefined ? doesNotExist(this.label) : undefined
  }

  /** The first write creates the directory, unless there is something else. */
  async #checkRoot(): Promise<undefined> {
    const stats = await absentAsUndefined(disk.promises.stat(this.#root))
    if (stats !== undefined && !stats.isDirectory())
      throw new VarveError('REMOTE_UNAVAILABLE', `${this.label} is not a directory; correct VARVE_REMOTE`)
  }

  async #removeTemporary(): Promise<void> {
    this.#isTidied = true
    const folder = join(this.#root, TEMPORARY)
    for (const name of (await absentAsUndefined(disk.promises.readdir(folder))) ?? []) {
      const stats = await absentAsUndefined(disk.promises.stat(join(folder, name)))
      if (stats !== undefined && Date.now() - stats.mtimeMs > TEMPORARY_MS)
        await disk.promises.rm(join(folder, name), { force: true })
    }
  }

  #pathOf(name: string): string {
    return join(this.#root, ...segmentsOf(name).map(encodeSegment))
  }

  async #write(bytes: Uint8Array): Promise<string> {
    const path = join(this.#root, TEMPORARY, randomUUID())
    try {
      await makeDirectory(dirname(path))
      const file = await disk.promises.open(path, 'wx', 0o644)
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      return path
    } catch (error) {
      await disk.promises.rm(path, { force: true }).catch(() => undefined)
      throw storeError(error, `write to ${this.label}`)
    }
  }
}

/** A pipe that has the name of a blob would otherwise be waited for. */
const OPENS: number = disk.constants.O_RDONLY | (disk.constants.O_NONBLOCK ?? 0)

/** So many bytes of a file, or fewer if it ends before. */
async function readAll(file: FileHandle, start: number, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size)
  let filled = 0
  for (let count = -1; filled < size && count !== 0; filled += count) {
    count = (await file.read(bytes, filled, Math.min(size - filled, READ_MAX), start + filled)).bytesRead
  }
  return bytes.subarray(0, filled)
}

/** The name of a blob or of the directory of blobs; undefined for a file that this store has not written. */
function nameOf(folder: string, file: string): string | undefined {
  try {
    const name = folder + decodeURIComponent(file)
    return encodeSegment(segmentsOf(name).at(-1) ?? '') === file ? name : undefined
  } catch {
    return undefined
  }
}

function versionPath(path: string, version: number): string {
  return version === 1 ? path : join(`${path}@`, String(version))
}

/** The number of the newest version, 1 if there is none. */
async function newestVersion(path: string): Promise<number> {
  const names = await absentAsUndefined(disk.promises.readdir(`${path}@`))
  return (names ?? [])
    .filter((name) => /^[1-9]\d{0,14}$/.test(name))
    .reduce((newest, name) => Math.max(newest, Number(name)), 1)
}

/** Whether the file became this version. */
async function publish(temporary: string, path: string, version: number): Promise<boolean> {
  const target = versionPath(path, version)
  await makeDirectory(dirname(target))
  try {
    await disk.promises.link(temporary, target)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
  if (version === 1) return true
  if ((await newestVersion(path)) > version) return false
  for (const name of await disk.promises.readdir(`${path}@`)) {
    if (Number(name) < version - 1) await disk.promises.rm(join(`${path}@`, name), { force: true })
  }
  return true
}

interface Blob {
  readonly name: string
  /** The path of version 1. */
  readonly path: string
}

/**
 * The blobs below a directory, as they are read. A blob that stays is among them: while it is replaced, its first version stays,
 * or, if a collector has removed that, the directory of its versions.
 */
async function* blobsIn(root: string, folder: string): AsyncIterable<Blob> {
  const entries = await absentAsUndefined(disk.promises.opendir(root))
  if (entries === undefined) return
  try {
    for await (const entry of entries) {
      const hasVersions = entry.isDirectory() && entry.name.endsWith('@')
      const file = hasVersions ? entry.name.slice(0, -1) : entry.name
      const name = nameOf(folder, file)
      const path = join(root, file)
      if (name === undefined || name === TEMPORARY) continue
      if (entry.isFile()) yield { name, path }
      else if (!entry.isDirectory()) continue
      else if (!hasVersions) yield* blobsIn(path, `${name}/`)
      else if ((await absentAsUndefined(disk.promises.stat(path))) === undefined) yield { name, path }
    }
  } catch (error) {
    throw storeError(error, 'read the remote directory')
  }
}

async function absentAsUndefined<T>(made: Promise<T>): Promise<T | undefined> {
  try {
    return await made
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw storeError(error, 'read the remote directory')
  }
}

/** Errors of the file system as those of a store; others as they are. */
function storeError(error: unknown, what: string): unknown {
  const code = codeOf(error)
  if (error instanceof VarveError || typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return error
  const isDenied = code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
  return new VarveError(isDenied ? 'REMOTE_DENIED' : 'REMOTE_UNAVAILABLE', `cannot ${what}: ${code}`, { cause: error })
}
