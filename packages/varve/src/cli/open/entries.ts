/** The raw entries of a cache: keys and values as bytes, for every codec. */
import { InvalidArgumentError } from 'commander'
import type { EngineFolders, EngineKeys, EngineStore } from '../../engine/engine.ts'
import { readText, type Key, readKey } from '../../values/bytes.ts'
import type { LayerReport, NamespaceStats } from '../../reports.ts'
import { readBytes } from '../../session/lookups.ts'
import type { Session } from '../../session/session.ts'
import { VarveError } from '../../errors.ts'

const PAGE_BYTES = 1 << 20
/** Bytes of keys and lengths over which one page of folders has sums. */
const FOLDERS_PAGE_BYTES = 4 << 20

/** One entry. `value` is valid until the next one is read. */
export interface RawEntry {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly keyBytes: number
  readonly value: Uint8Array
}

/** The namespaces of a cache, or the one of that name. Throws INVALID_ARGUMENT if there is none. */
export async function namespacesOf(session: Session, only: string | undefined): Promise<readonly NamespaceStats[]> {
  const { namespaces } = await session.run((store) => store.stats())
  if (only === undefined) return namespaces
  const found = namespaces.filter((namespace) => namespace.name === only)
  if (found.length > 0) return found
  const known = namespaces.map((namespace) => `'${namespace.name}'`).join(', ')
  throw new VarveError(
    'INVALID_ARGUMENT',
    `there is no namespace '${only}'; the cache has ${known === '' ? 'none' : known}`,
  )
}

/** The entries of these namespaces, page by page: of all folders, or of some. */
export function* entriesOf(
  session: Session,
  namespaces: readonly NamespaceStats[],
  folders?: EngineFolders,
): Generator<RawEntry> {
  for (const namespace of namespaces) {
    for (const page of pagesOf(session, namespace, (store, number, from) =>
      store.scan(number, from, PAGE_BYTES, folders),
    )) {
      let keyStart = 0
      let valueStart = 0
      for (const [index, keyEnd] of page.keyEnds.entries()) {
        const valueEnd = page.valueEnds[index] ?? valueStart
        const key = readKey(page.keys, keyStart, keyEnd)
        yield { namespace, key, keyBytes: keyEnd - keyStart, value: page.values.subarray(valueStart, valueEnd) }
        keyStart = keyEnd
        valueStart = valueEnd
      }
    }
  }
}

/** A key, and the length of its value. */
export interface RawKey {
  readonly namespace: NamespaceStats
  readonly key: Key
  readonly keyBytes: number
  readonly valueBytes: number
}

/** The keys of these namespaces, page by page: of all folders, or of some. Reads no values. */
export function* keysOf(
  session: Session,
  namespaces: readonly NamespaceStats[],
  folders?: EngineFolders,
): Generator<RawKey> {
  for (const namespace of namespaces) {
    for (const page of pagesOf(session, namespace, (store, number, from) =>
      store.scanKeys(number, from, PAGE_BYTES, folders),
    )) {
      let start = 0
      for (const [index, end] of page.keyEnds.entries()) {
        yield {
          namespace,
          key: readKey(page.keys, start, end),
          keyBytes: end - start,
          valueBytes: page.valueBytes[index] ?? 0,
        }
        start = end
      }
    }
  }
}

/** Entries whose keys are in one folder: their number, and the bytes of keys and values. */
export interface FolderSums {
  readonly folder: string
  readonly entries: number
  readonly bytes: number
}

/** The folders of a namespace, page by page. Each page has the sums over its own entries. */
export function* foldersOf(session: Session, namespace: NamespaceStats): Generator<FolderSums> {
  for (const page of pagesOf(session, namespace, (store, number, from) =>
    store.scanFolders(number, from, FOLDERS_PAGE_BYTES),
  )) {
    let start = 0
    for (const [index, end] of page.keyEnds.entries()) {
      yield {
        folder: readText(page.keys, start, end),
        entries: page.entries[index] ?? 0,
        bytes: page.bytes[index] ?? 0,
      }
      start = end
    }
  }
}

type Scan<Page> = (store: EngineStore, number: number, from: bigint) => Page
type AnyPage = Pick<EngineKeys, 'next'>

function* pagesOf<Page extends AnyPage>(
  session: Session,
  { name, version }: NamespaceStats,
  scan: Scan<Page>,
): Generator<Page> {
  const number = session.call((store) => store.namespace(name, version))
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const from: bigint = cursor
    const page = session.call((store) => scan(store, number, from))
    yield page
    cursor = page.next
  }
}

/** The value of a key, undefined if there is none. */
export function valueOf(
  session: Session,
  { name, version }: Pick<NamespaceStats, 'name' | 'version'>,
  key: Key,
): Uint8Array | undefined {
  return session.call((store) => readBytes(session, store, store.namespace(name, version), key))
}

/** Where a key is stored: the path of a layer, or '' for the cache itself; undefined if there is no such key. The layer that answers counts a hit. */
export function placeOf(
  session: Session,
  namespace: Pick<NamespaceStats, 'name' | 'version'>,
  key: Key,
): string | undefined {
  const layers = (): readonly LayerReport[] => session.call((store) => store.status()).layers
  const before = layers()
  if (valueOf(session, namespace, key) === undefined) return undefined
  return layers().find(({ hits }, index) => hits > (before[index]?.hits ?? 0))?.path ?? ''
}

/** An option or argument that is a path. An empty one, such as a shell variable that is not set, is an error. */
export function pathOf(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It is empty; name a file or directory.')
}

/** An option that is a count. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError(`'${text}' is not a whole number.`)
}

/** A key in JSON: text, or base64 if its bytes are not text. */
export function keyJson(key: Key): { readonly key: string } | { readonly keyBase64: string } {
  return typeof key === 'string' ? { key } : { keyBase64: Buffer.from(key).toString('base64') }
}
