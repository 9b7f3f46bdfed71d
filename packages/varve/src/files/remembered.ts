/**
 * What the cache remembers of each restore, so that the next one to the same target leaves what is unchanged without
 * reading it: an entry by the path of the target, in a namespace of its own. What it holds is the engine's.
 */
import { toVarveError } from '../errors.ts'
import { readText } from '../values/bytes.ts'
import { writeKey } from '../values/key.ts'
import type { Session } from '../session/session.ts'

const NAMESPACE = 'varve/restored'
const VERSION = '1 text'

/** What the last restore to `target` left; '' where nothing is known. */
export function remembered(session: Session, target: string): string {
  const store = session.store
  try {
    const namespace = store.namespace(NAMESPACE, VERSION)
    const size = store.get(namespace, writeKey(session.scratchOf(store), target))
    if (size < 0) return ''
    const scratch = session.scratchOf(store)
    if (size <= scratch.length) return readText(scratch, 0, size)
    const value = new Uint8Array(size)
    store.take(value)
    return readText(value, 0, size)
  } catch (error) {
    return session.miss(error) ?? ''
  }
}

/** Remembers it, in a commit of its own. Where that fails the next restore reads more, and nothing else. */
export async function remember(session: Session, target: string, value: string): Promise<void> {
  try {
    await session.run(async (store) => (await store.files()).commitAlone({ namespace: NAMESPACE, version: VERSION, key: target, value }), 'write')
  } catch (error) {
    session.warn(toVarveError(error), 'remember')
  }
}
