/**
 * The public promises of Varve, as one suite that every engine on every host passes: a new engine is five lines in
 * `contract.test.ts`.
 */
import { join } from 'node:path'
import type { Cache, CacheOptions } from 'varve'
import { describe } from 'vitest'
import { makeFolder } from '../folders.ts'
import { bulkContract } from './bulk.ts'
import { closingContract } from './closing.ts'
import { commitsContract } from './commits.ts'
import { historyContract } from './history.ts'
import { keysContract } from './keys.ts'
import { layersContract } from './layers.ts'
import { leastRecentlyUsedContract } from './least-recently-used.ts'
import type { Subject } from './subject.ts'
import { upkeepContract } from './upkeep.ts'
import { valuesContract } from './values.ts'
import { writesNothingContract } from './writes-nothing.ts'

/** How an engine is opened, and what its host can do. */
export interface EngineUnderTest {
  openEngineCache(options: CacheOptions): Promise<Cache>
  /** Whether the files are on a disk where the test can look at them. */
  readonly isOnDisk: boolean
}

/** Runs every promise on one engine. */
export function contract(name: string, { openEngineCache, isOnDisk }: EngineUnderTest): void {
  const subject: Subject = {
    newDir: () => join(makeFolder(), 'cache'),
    open: (dir, options) => openEngineCache({ name: 'contract', dir, ...options }),
  }
  describe(`contract: ${name}`, () => {
    keysContract(subject)
    valuesContract(subject)
    commitsContract(subject)
    bulkContract(subject)
    closingContract(subject)
    upkeepContract(subject)
    historyContract(subject)
    leastRecentlyUsedContract(subject)
    if (isOnDisk) layersContract(subject)
    if (isOnDisk) writesNothingContract(subject)
  })
}
