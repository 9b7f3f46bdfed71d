/**
 * Jest 30 replaces the properties of objects on the global scope by accessors when a test file is over, and such a setter calls itself.
 * Varve, which was still writing then, exceeded the stack, and the process ended without a report.
 */
import { expect, it } from 'vitest'
import { installReads } from 'varve/reads'

it('Jest cannot replace the properties of the recorder, which are used after a test file is over', () => {
  const installed = installReads()
  const replaced = Object.keys(installed ?? {}).filter((key) =>
    Reflect.defineProperty(installed ?? {}, key, { configurable: true, set: () => {} }),
  )
  expect(installed).toBeDefined()
  expect(replaced).toEqual([])
})
