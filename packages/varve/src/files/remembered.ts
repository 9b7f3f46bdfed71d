/**
 * Records of restores, so that the next restore to the same target skips unchanged files without reading them: an entry for
 * each target path, in a separate namespace. The engine defines its content.
 */
import { toVarveError } from '../errors.ts'
import { readText } from '../values/bytes.ts'
import { readBytes } from '../session/read-long.ts'
import type { Session } from '../session/session.ts'

const NAMESPACE = 'varve/restored'
const VERSION = '1 text'

/** The record of the last restore to `target`; '' if there is none. */
export function remembered(session: Session, target: string): string {
  const store = session.store
  try {
    const namespace = store.namespace(NAMESPACE, VERSION)
    const value = readBytes(session, store, namespace, target)
    return value === undefined ? '' : readText(value, 0, value.length)
  } catch (error) {
    return session.miss(error) ?? ''
  }
}

/** Stores the record in its own commit. If that fails, the next restore reads more files. */
export async function remember(session: Session, target: string, value: string): Promise<void> {
  try {
    await session.run(
      async (store) =>
        (await store.files()).commitAlone({ namespace: NAMESPACE, version: VERSION, key: target, value }),
      'write',
    )
  } catch (error) {
    session.warn(toVarveError(error), 'remember')
  }
}
