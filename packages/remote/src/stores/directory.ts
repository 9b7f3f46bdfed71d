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
import { constants } from 'node:fs'
import { link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { VarveError } from 'varve'
import { codeOf } from '../error-code.ts'
import { invalidOption } from '../options.ts'
import {
  type BlobStore, encodeSegment, type Fetched, type GetOptions, type Head, type Listed, type PutOptions, type PutOutcome, segmentsOf, tooLarge,
} from './store.ts'

const TEMPORARY = '.temporary'

/** No write takes this long. */
const TEMPORARY_MS = 86_400_000

/** A store in a directory, which the first write creates. The file system needs hard links. */
export function directory(path: string): BlobStore {
  if (typeof path !== 'string' || path === '') throw invalidOption('path of directory()', "a directory, for example '/mnt/team/varve'")
  return new DirectoryStore(resolve(path))
}

class DirectoryStore implements BlobStore {
  readonly label: string
  readonly capabilities = { range: true, createOnly: true, compareAndSwap: true, list: true, delete: true, bytesMax: 2 ** 31 }
  readonly #root: string
  #isTidied = false

  constructor(root: string) {
    this.#root = root
    this.label = `directory '${root}'`
  }

  async get(name: string, { range, ifNoneMatch, bytesMax = Number.MAX_SAFE_INTEGER, signal }: GetOptions = {}): Promise<Fetched | undefined> {
    const path = this.#pathOf(name)
    for (;;) {
      signal?.throwIfAborted()
      const version = await newestVersion(path)
      const etag = String(version)
      const file = await absentAsUndefined(open(versionPath(path, version), constants.O_RDONLY))
      if (file === undefined) {
        if (version === 1) return undefined
        continue // removed since the list, because a newer version exists
      }
      try {
        if (ifNoneMatch === etag) return { bytes: new Uint8Array(), etag, unchanged: true }
        const { size } = await file.stat()
        const [start, end] = [Math.min(range?.start ?? 0, size), Math.min(range?.end ?? size, size)]
        if (end - start > bytesMax) throw tooLarge(name, bytesMax)
        const bytes = new Uint8Array(Math.max(0, end - start))
        const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
        return { bytes: bytes.subarray(0, bytesRead), etag }
      } finally {
        await file.close()
      }
    }
  }

  async head(name: string): Promise<Head | undefined> {
    const path = this.#pathOf(name)
    const version = await newestVersion(path)
    const stats = await absentAsUndefined(stat(versionPath(path, version)))
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
      await rm(temporary, { force: true })
    }
  }

  async *list(prefix: string): AsyncIterable<Listed> {
    const names = new Set<string>()
    for (const file of await filesIn(this.#root)) {
      const path = file.slice(this.#root.length + 1).replaceAll('\\', '/')
      if (path.startsWith(TEMPORARY)) continue
      const name = path.replace(/@\/\d+$/, '').split('/').map(decodeURIComponent).join('/')
      if (name.startsWith(prefix)) names.add(name)
    }
    for (const name of [...names].sort()) {
      const path = this.#pathOf(name)
      const stats = await absentAsUndefined(stat(versionPath(path, await newestVersion(path))))
      if (stats !== undefined) yield { name, size: stats.size, modified: stats.mtimeMs }
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const path of names.map((name) => this.#pathOf(name))) {
      await rm(path, { force: true })
      await rm(`${path}@`, { recursive: true, force: true })
    }
    if (!this.#isTidied) await this.#removeTemporary()
  }

  async #removeTemporary(): Promise<void> {
    this.#isTidied = true
    const folder = join(this.#root, TEMPORARY)
    for (const name of (await absentAsUndefined(readdir(folder))) ?? []) {
      const stats = await absentAsUndefined(stat(join(folder, name)))
      if (stats !== undefined && Date.now() - stats.mtimeMs > TEMPORARY_MS) await rm(join(folder, name), { force: true })
    }
  }

  #pathOf(name: string): string {
    return join(this.#root, ...segmentsOf(name).map(encodeSegment))
  }

  async #write(bytes: Uint8Array): Promise<string> {
    const path = join(this.#root, TEMPORARY, randomUUID())
    try {
      await mkdir(dirname(path), { recursive: true })
      const file = await open(path, 'wx', 0o644)
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      return path
    } catch (error) {
      await rm(path, { force: true }).catch(() => undefined)
      throw storeError(error, `write to ${this.label}`)
    }
  }
}

function versionPath(path: string, version: number): string {
  return version === 1 ? path : join(`${path}@`, String(version))
}

/** The number of the newest version, 1 if there is none. */
async function newestVersion(path: string): Promise<number> {
  const names = await absentAsUndefined(readdir(`${path}@`))
  return Math.max(1, ...(names ?? []).filter((name) => /^\d+$/.test(name)).map(Number))
}

/** Whether the file became this version. */
async function publish(temporary: string, path: string, version: number): Promise<boolean> {
  const target = versionPath(path, version)
  await mkdir(dirname(target), { recursive: true })
  try {
    await link(temporary, target)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
  if (version === 1) return true
  if ((await newestVersion(path)) > version) return false
  for (const name of await readdir(`${path}@`)) {
    if (Number(name) < version - 1) await rm(join(`${path}@`, name), { force: true })
  }
  return true
}

/** The paths of all files below a directory. One that is removed meanwhile has none. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = (await absentAsUndefined(readdir(folder, { withFileTypes: true }))) ?? []
  const found = entries.map((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : []
  })
  return (await Promise.all(found)).flat()
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
