/** Manifests among the raw entries of a cache. */
import { codecOf } from '../../values/codec.ts'
import { entriesOf as filesOf, type FileManifest, isFile, isManifest } from '../../values/manifest.ts'
import type { Key } from '../../values/key.ts'
import type { NamespaceStats } from '../../reports.ts'
import type { Session } from '../../session/session.ts'
import { entriesOf } from '../open/entries.ts'
import { counted } from '../output/output.ts'

const MARKER = Buffer.from('varve-files')

/** An entry whose value is a manifest. */
export interface Named {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly manifest: FileManifest
}

/** Option of the commands that look for manifests. */
export const V8_OPTION = ['--v8', "also read namespaces with codec 'v8', whose values V8 deserialises"] as const

/**
 * All entries whose value is a manifest; manifests inside a value are not found. Values of codec `v8` are decoded only on
 * request, because V8's deserialiser does not expect untrusted bytes.
 */
export function* manifestsOf(
  session: Session,
  namespaces: readonly NamespaceStats[],
  withV8: boolean,
): Generator<Named> {
  let skipped = 0
  for (const { namespace, key, value } of entriesOf(session, namespaces)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    if (!bytes.includes(MARKER)) continue
    const codec = namespace.version.slice(namespace.version.lastIndexOf(' ') + 1) === codecOf('v8').tag ? 'v8' : 'json'
    if (codec === 'v8' && !withV8) {
      skipped++
      continue
    }
    const manifest = manifestIn(codec, bytes)
    if (manifest !== undefined) yield { namespace, key, manifest }
  }
  if (skipped > 0) {
    process.stderr.write(
      `varve: ${counted(skipped, 'value')} of codec 'v8' may be manifests, too; look at them with --v8\n`,
    )
  }
}

/** Files and bytes of a manifest. */
export function totalsOf(manifest: FileManifest): { readonly entries: number; readonly bytes: number } {
  const bytes = manifest.files.filter(isFile).reduce((sum, file) => sum + file.size, 0)
  return { entries: manifest.files.length, bytes }
}

function manifestIn(codec: 'json' | 'v8', bytes: Uint8Array): FileManifest | undefined {
  try {
    const decoded = codecOf(codec).decode(bytes, 0, bytes.length, false)
    return isManifest(decoded) && filesOf('varve files', decoded) === decoded.files ? decoded : undefined
  } catch {
    return undefined // text that happens to have the word in it, bytes of another V8, or a manifest that no call takes
  }
}
