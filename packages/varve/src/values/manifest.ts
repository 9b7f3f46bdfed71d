/**
 * A manifest: the files of a tree as plain data. The cache holds their contents, by digest. Codecs and `JSON.stringify`
 * preserve it, and two manifests of the same tree are the same text.
 */
import { VarveError } from '../errors.ts'
import { describe } from '../checks/options.ts'

/** A regular file. */
export interface FileItem {
  /** Relative to the root, parts separated by '/'. */
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** BLAKE3 of the content, 64 hex digits. */
  readonly digest: string
  /** Whether any user may execute it. */
  readonly executable?: true
}

/** A symbolic link that stays inside the tree. */
export interface LinkItem {
  readonly path: string
  /** Relative to the directory of the link: `..` any number of times, then names. */
  readonly link: string
}

/** An empty directory; others follow from the paths of their files. */
export interface FolderItem {
  readonly path: string
  readonly folder: true
}

/** One line of a manifest. */
export type FileEntry = FileItem | LinkItem | FolderItem

/** The files of a tree, sorted by the bytes of their paths. */
export interface FileManifest {
  readonly kind: 'varve-files'
  readonly version: 1
  readonly files: readonly FileEntry[]
}

/** Bytes of a file in the list that goes with an entry: digest and size. */
const REF_BYTES = 40

/** The content of a file. */
export interface Blob {
  readonly digest: string
  readonly size: bigint
}

export function manifestOf(files: readonly FileEntry[]): FileManifest {
  return { kind: 'varve-files', version: 1, files }
}

/** Whether `value` has the marker of a manifest. Not if reading it fails, because a codec then refuses it. */
export function isManifest(value: unknown): value is FileManifest {
  try {
    return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'varve-files'
  } catch {
    return false
  }
}

/** The entries of a manifest. Throws INVALID_ARGUMENT for other values and for later versions. */
export function entriesOf(call: string, manifest: FileManifest): readonly FileEntry[] {
  const value: unknown = manifest
  if (!isManifest(value))
    throw new VarveError('INVALID_ARGUMENT', `${call} takes a manifest of files.store(), not ${describe(value)}`)
  const { version, files }: { readonly version: unknown; readonly files: unknown } = value
  if (version !== 1 || !Array.isArray(files)) {
    throw new VarveError(
      'INVALID_ARGUMENT',
      `${call} takes manifests of version 1, not ${describe(version)}; treat it as a miss`,
    )
  }
  const wrong = files.findIndex((entry: unknown) => !isEntry(entry))
  if (wrong === -1) return files
  throw new VarveError(
    'INVALID_ARGUMENT',
    `${call} takes manifests of files.store(), and number ${wrong} of these files is none; treat it as a miss`,
  )
}

/** Whether a value has the fields of an entry; the engine knows which paths and digests are valid. */
function isEntry(value: unknown): value is FileEntry {
  if (typeof value !== 'object' || value === null) return false
  const { path, size, digest, link, folder } = value as Partial<
    Record<'path' | 'size' | 'digest' | 'link' | 'folder', unknown>
  >
  if (typeof path !== 'string') return false
  if ('digest' in value) return typeof digest === 'string' && Number.isSafeInteger(size) && Number(size) >= 0
  return 'link' in value ? typeof link === 'string' : folder === true
}

export function isFile(entry: FileEntry): entry is FileItem {
  return 'digest' in entry
}

/** The files that manifests name, each content once; undefined if they name none. Throws INVALID_ARGUMENT. */
export function blobsOf(manifests: readonly FileManifest[]): readonly Blob[] | undefined {
  const blobs = new Map<string, Blob>()
  for (const manifest of manifests) {
    for (const entry of entriesOf('put()', manifest)) {
      if (!isFile(entry)) continue
      const { path, digest, size } = entry
      if (!/^[0-9a-f]{64}$/.test(digest))
        throw new VarveError('INVALID_ARGUMENT', `the manifest has no digest at '${path}'`)
      blobs.set(digest, { digest, size: BigInt(size) })
    }
  }
  return blobs.size === 0 ? undefined : [...blobs.values()]
}

/** What the engine takes for an entry that needs files: their number, digest and size of each, then the value. */
export function packWithBlobs(blobs: readonly Blob[], value: Uint8Array): Uint8Array {
  const packed = new Uint8Array(4 + blobs.length * REF_BYTES + value.length)
  const view = new DataView(packed.buffer)
  view.setUint32(0, blobs.length, true)
  let at = 4
  for (const { digest, size } of blobs) {
    for (let i = 0; i < 32; i++) packed[at + i] = (digitAt(digest, 2 * i) << 4) | digitAt(digest, 2 * i + 1)
    view.setBigUint64(at + 32, size, true)
    at += REF_BYTES
  }
  packed.set(value, at)
  return packed
}

/** The value of a hex digit, lower case. */
function digitAt(hex: string, index: number): number {
  const code = hex.charCodeAt(index)
  return code < 58 ? code - 48 : code - 87
}

/** Compares paths by their UTF-8 bytes, as the engine does. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  if (a.path === b.path) return 0
  for (let i = 0; ; i++) {
    const left = a.path.codePointAt(i)
    const right = b.path.codePointAt(i)
    if (left !== right) return (left ?? -1) - (right ?? -1)
  }
}
