/** `namespace.getOrPut`: computes the value of a key once, while other calls for the same key wait for it. */
import type { Once } from '../session/namespace.ts'
import type { Session } from '../session/session.ts'
import { readKey, writeKey } from '../values/key.ts'
import { join } from './in-flight.ts'

/** Runs computations as work in flight; `place` distinguishes the cache from others of this process. */
export function onceIn(session: Session, place: string): Once {
  return async ({ name, fullVersion }, key, compute) => {
    // A string and its UTF-8 bytes are the same key.
    const same = readKey(session.pack, 0, writeKey(session.pack, key))
    const id = typeof same === 'string' ? same : same.toString()
    const { outcome } = await join(place, {
      name: JSON.stringify(['getOrPut', name, fullVersion, typeof same, id]),
      step: { task: name, id },
      work: async () => {
        try {
          return { kind: 'done', value: await compute() }
        } catch (error) {
          return { kind: 'failed', error }
        }
      },
    })
    if (outcome.kind === 'failed') throw outcome.error
    return outcome.value as Awaited<ReturnType<typeof compute>>
  }
}
