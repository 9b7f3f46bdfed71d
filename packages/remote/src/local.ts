/**
 * Removes layers from the directory of a remote:
 *
 *   1. After layers were fetched, one that no stored head names gets a file `.unused`. One that is named again loses it.
 *   2. Its directory is removed `UNUSED_MS` after that: first renamed, so that no part of a layer has its name, then deleted.
 *   3. A layer in which a cache has found damage is removed at once, so that it is fetched again, but only once in `UNUSED_MS`: what was
 *      published may be damaged, too.
 *
 * No lock protects a process that has the layer open, the time does. A process that stays open for longer keeps its open tables, on POSIX as
 * on Windows, where an open file keeps the directory from being renamed. Blobs that it reads later are misses.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { STORED_HEAD } from './heads.ts'
import { type RemoteLayer, unverified } from './manifest.ts'
import { disk } from './host.ts'

const UNUSED_MS = 7 * 86_400_000
const LAYER = /^[0-9a-f]{32}(?:\.untrusted)?$/
const TEMPORARY = /^\..*\.tmp$/

/** Marks and removes layers that neither `used` nor a stored head has. A failure leaves them for the next time. */
export async function dropUnused(dir: string, used: readonly RemoteLayer[]): Promise<void> {
  try {
    const names = await disk.promises.readdir(dir)
    const heads = await Promise.all(
      names.filter((name) => name.startsWith(STORED_HEAD)).map((name) => disk.promises.readFile(join(dir, name))),
    )
    const named = new Set(
      [...used, ...heads.flatMap((bytes) => unverified(bytes)?.layers ?? [])].map(({ sha256 }) => sha256.slice(0, 32)),
    )
    for (const name of names.filter((each) => LAYER.test(each)))
      await dropLayer(dir, name, named.has(name.slice(0, 32)))
    for (const name of names.filter((each) => TEMPORARY.test(each))) {
      if (await isOld(join(dir, name))) await disk.promises.rm(join(dir, name), { recursive: true, force: true })
    }
  } catch {
    // Layers that are left over cost space only.
  }
}

async function dropLayer(dir: string, name: string, isNamed: boolean): Promise<void> {
  const mark = join(dir, name, '.unused')
  if (isNamed) await disk.promises.rm(mark, { force: true })
  else if (await isOld(mark)) await remove(dir, join(dir, name))
  else await disk.promises.writeFile(mark, '', { flag: 'wx' }).catch(() => undefined) // it may have one
}

/** Removes a damaged layer, unless it was fetched again for that reason before. */
export async function dropDamaged(dir: string, name: string): Promise<void> {
  const mark = join(dir, `.${name}.damaged.tmp`) // `dropUnused` removes it, too
  if (!LAYER.test(name) || (disk.existsSync(mark) && !(await isOld(mark)))) return
  await disk.promises.writeFile(mark, '')
  await remove(dir, join(dir, name))
}

/** Whether a file or directory is older than `UNUSED_MS`. */
async function isOld(path: string): Promise<boolean> {
  const found = await disk.promises.stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > UNUSED_MS
}

/** Removes a layer. It fails without an error if another process uses it, on Windows. */
export async function remove(dir: string, path: string): Promise<void> {
  const temporary = join(dir, `.${randomUUID()}.tmp`)
  await disk.promises
    .rename(path, temporary)
    .then(() => disk.promises.rm(temporary, { recursive: true, force: true }))
    .catch(() => undefined)
}
