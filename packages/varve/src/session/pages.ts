/** The entries of a namespace, read in pages of about 1 MiB. */
import type { EnginePage } from '../engine/engine.ts'
import type { Session } from './session.ts'

/** Bytes of keys and values in a page, about. */
const PAGE_BYTES = 1 << 20

/** Reads one page after another. A page that cannot be read is a warning and ends the walk. */
export function* pagesOf(session: Session, namespace: number): IterableIterator<EnginePage> {
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const page: EnginePage | undefined = pageAt(session, namespace, cursor)
    if (page === undefined) return
    yield page
    cursor = page.next
  }
}

/** Each entry as its page and its index there. */
export function* placesOf(session: Session, namespace: number): IterableIterator<[page: EnginePage, index: number]> {
  for (const page of pagesOf(session, namespace))
    for (let index = 0; index < page.keyEnds.length; index++) yield [page, index]
}

function pageAt(session: Session, namespace: number, cursor: bigint): EnginePage | undefined {
  const store = session.store
  try {
    const page = store.scan(namespace, cursor, PAGE_BYTES)
    session.lookForDamage()
    return page
  } catch (error) {
    return session.miss(error)
  }
}

/** Buffers the removal of every entry. Throws if a page cannot be read: its entries would stay. */
export function removeAll(session: Session, namespace: number): void {
  for (let cursor: bigint | undefined = 0n; cursor !== undefined;) {
    const from: bigint = cursor
    cursor = session.call((store) => {
      const { keys, keyEnds, next } = store.scan(namespace, from, PAGE_BYTES)
      let start = 0
      for (const end of keyEnds) {
        session.scratchOf(store).set(keys.subarray(start, end))
        store.delete(namespace, end - start)
        start = end
      }
      return next
    })
  }
}
