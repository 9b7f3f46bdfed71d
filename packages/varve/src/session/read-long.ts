/** Values that did not fit where a lookup wanted them. */
import type { EngineStore } from '../engine/engine.ts'
import { occupy, roomFor } from '../values/bytes.ts'
import { type Key, writeKey } from '../values/key.ts'
import type { Session } from './session.ts'

/** The value of that size which `get` or `getMany` has found last, in memory of its own; undefined if it is gone meanwhile. */
export function readLong(store: EngineStore, size: number): Uint8Array | undefined {
  for (let expected = size; expected >= 0;) {
    const value = roomFor(expected)
    const found = store.read(value)
    if (found === expected) {
      occupy(expected)
      return value
    }
    expected = found // another thread has committed another value
  }
  return undefined
}

/** The bytes of a value, in memory of their own; undefined for a miss. */
export function readBytes(session: Session, store: EngineStore, namespace: number, key: Key): Uint8Array | undefined {
  const scratch = session.scratchOf(store)
  const size = store.get(namespace, writeKey(scratch, key), scratch, 0)
  if (size < 0) return undefined
  const found = session.scratchOf(store)
  return size <= found.length ? found.slice(0, size) : readLong(store, size)
}
