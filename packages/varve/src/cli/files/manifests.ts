/** Manifests among the raw entries of a cache. */
import { deserialize } from 'node:v8'
import { codecOf } from '../../codec.ts'
import { type FileManifest, isFile, isManifest } from '../../files/manifest.ts'
import type { Key } from '../../key.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session.ts'
import { entriesOf } from '../entries.ts'

const MARKER = Buffer.from('varve-files')

/** An entry whose value is a manifest. */
export interface Named {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly manifest: FileManifest
}

/** All entries that are manifests by themselves; those deeper in a value are not found. */
export function* manifestsOf(session: Session, namespaces: readonly NamespaceStats[]): Generator<Named> {
  for (const { namespace, key, value } of entriesOf(session, namespaces)) {
    const manifest = manifestIn(namespace, value)
    if (manifest !== undefined) yield { namespace, key, manifest }
  }
}

/** Files and bytes of a manifest. */
export function totalsOf(manifest: FileManifest): { readonly entries: number; readonly bytes: number } {
  const bytes = manifest.files.filter(isFile).reduce((sum, file) => sum + file.size, 0)
  return { entries: manifest.files.length, bytes }
}

function manifestIn(namespace: NamespaceStats, value: Uint8Array): FileManifest | undefined {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  if (!bytes.includes(MARKER)) return undefined
  const tag = namespace.version.slice(namespace.version.lastIndexOf(' ') + 1)
  try {
    const decoded: unknown = tag === codecOf('v8').tag ? deserialize(new Uint8Array(bytes)) : JSON.parse(bytes.toString())
    return isManifest(decoded) && Array.isArray(decoded.files) ? decoded : undefined
  } catch {
    return undefined // text that happens to have the word in it, or bytes of another V8
  }
}
