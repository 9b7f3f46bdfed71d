/**
 * Trust domains. What a cache computes over layers of an untrusted scope may be the attacker's, so it never gets into a cache that a trusted
 * scope reads or publishes. A directory of a cache or layer is untrusted for good if
 *
 *   1. the name of the directory above it ends in `.untrusted`:
 *        <caches>/<name>                 the cache of trusted builds
 *        <caches>/.untrusted/<name>      the cache of builds over untrusted layers
 *        .remote/<id>.untrusted/<name>   a layer that an untrusted scope has named
 *   2. or it, or its directory of the format, has the file `UNTRUSTED`. So a copy that has another path is recognised, also one of `v1` alone.
 *
 * A cache over such a layer uses the untrusted directory. A read-only one stays where it is, because it leaves nothing there.
 */
import { builtin } from '../host/builtin.ts'
import { VarveError } from '../errors.ts'
import { makeDirectory } from '../host/permission.ts'
import { FORMAT_FOLDER, SECRET_FOLDER } from '../host/format.ts'
import { isThere } from './trust.ts'

/** Whether what a cache has may come from an untrusted scope. */
export type TrustDomain = 'trusted' | 'untrusted'

const SUFFIX = '.untrusted'
const MARK = 'UNTRUSTED'
const TEXT =
  'This directory has, or may have, results of an untrusted scope. No trusted scope publishes it. See SECURITY.md of varve.\n'

/** The domain of a directory of a cache or layer. */
export function domainOf(dir: string): TrustDomain {
  const paths = builtin('node:path')
  const files = builtin('node:fs')
  if (paths === undefined || files === undefined) return 'trusted'
  const isUntrusted =
    paths.basename(paths.dirname(dir)).endsWith(SUFFIX) ||
    [dir, ...formatFolders(dir)].some((folder) => isThere(paths.join(folder, MARK), files))
  return isUntrusted ? 'untrusted' : 'trusted'
}

/** The directories of the format in a directory. */
function formatFolders(dir: string): string[] {
  try {
    const names = builtin('node:fs')?.readdirSync(dir) ?? []
    return names.filter((name) => name === FORMAT_FOLDER || SECRET_FOLDER.test(name)).map((name) => `${dir}/${name}`)
  } catch {
    return [] // it does not exist, or is not a directory
  }
}

/** The domain of what is made over these layers. */
export function domainOver(layers: readonly string[]): TrustDomain {
  return layers.some((layer) => domainOf(layer) === 'untrusted') ? 'untrusted' : 'trusted'
}

/** The directory of a cache for a domain. Nothing leads back from an untrusted directory. */
export function directoryIn(domain: TrustDomain, dir: string): string {
  const paths = builtin('node:path')
  if (paths === undefined || domain === 'trusted' || domainOf(dir) === 'untrusted') return dir
  return paths.join(paths.dirname(dir), SUFFIX, paths.basename(dir))
}

/** The directory that has the caches of both domains, of the cache in `dir`. */
export function cachesAbove(dir: string): string {
  const paths = builtin('node:path')
  if (paths === undefined) return dir
  const parent = paths.dirname(dir)
  return paths.basename(parent) === SUFFIX ? paths.dirname(parent) : parent
}

/** The directory that has the untrusted caches of a directory of caches. */
export function untrustedIn(caches: string): string {
  return builtin('node:path')?.join(caches, SUFFIX) ?? caches
}

/** Seals a layer in `dir`, with the marks of its domain. Marks nothing if the directory has a cache or a layer: then sealing fails. Throws IO. */
export async function sealIn<Report>(domain: TrustDomain, dir: string, seal: () => Promise<Report>): Promise<Report> {
  const isMarked = domain === 'untrusted' && formatFolders(dir).length === 0
  const mark = (): void => {
    try {
      markUntrusted(dir)
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error))
      throw new VarveError('IO', `cannot mark '${dir}' as a layer of an untrusted scope: ${message}`, { cause: error })
    }
  }
  if (isMarked) mark()
  const report = await seal()
  if (isMarked) mark() // now there is a directory of the format
  return report
}

/** Marks a directory and its directories of the format, and creates it, and the one named `folder`. Throws the error of the system. */
export function markUntrusted(dir: string, folder?: string): void {
  const files = builtin('node:fs')
  if (files === undefined) return
  const created = folder === undefined ? [] : [`${dir}/${folder}`]
  for (const place of new Set([dir, ...formatFolders(dir), ...created])) {
    const path = `${place}/${MARK}`
    if (isThere(path, files)) continue
    makeDirectory(files, place, 0o700)
    files.writeFileSync(path, TEXT, { mode: 0o600, flush: true })
  }
}
