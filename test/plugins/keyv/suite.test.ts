/** Keyv's own suite for stores, whole, on both engines. It is the suite of Keyv 5; Keyv 6 passes all but what it changed. */
import keyvTestSuite, { keyvIteratorTests } from '@keyv/test-suite'
import { VarveKeyv } from '@varve/plugins/keyv'
import { Keyv } from 'keyv'
import { Keyv as Keyv6 } from 'keyv-6'
import * as vitest from 'vitest'
import { makeFolder } from '../../folders.ts'

/** Keyv 6 answers with a list, which is never falsy. */
const CHANGED_IN_6 = '.deleteMany([keys]) with nonexistent keys resolves to false'

/** Makes stores of one folder, and closes them after each test. */
function makeStores(engine: 'native' | 'wasm'): () => VarveKeyv {
  const dir = makeFolder()
  const stores: VarveKeyv[] = []
  vitest.afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.disconnect()))
  })
  return () => {
    const store = new VarveKeyv({ dir, engine })
    stores.push(store)
    return store
  }
}

vitest.describe.each(['native', 'wasm'] as const)('%s', (engine) => {
  vitest.describe('Keyv 5', () => {
    const store = makeStores(engine)
    keyvTestSuite(vitest, Keyv, store)
    keyvIteratorTests(vitest, Keyv, store)
  })

  vitest.describe('Keyv 6', () => {
    const store = makeStores(engine)
    const it = (name: string, run: (context: object) => unknown): void => {
      if (name === CHANGED_IN_6) vitest.it.fails(name, run)
      else vitest.it(name, run)
    }
    const test = { ...vitest, it }
    // @ts-expect-error the types of the suite are those of Keyv 5
    keyvTestSuite(test, Keyv6, store)
    // @ts-expect-error as above
    keyvIteratorTests(test, Keyv6, store)
  })
})
