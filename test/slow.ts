/**
 * Tests that `npm test` leaves to `npm test -- --all`. A test is slow if it takes seconds and a faster test covers the same
 * promise, for example on the other engine or for another bundler. Every folder keeps tests that are not slow.
 */
import type { TestOptions } from 'vitest'
import type { EngineName } from './engines.ts'

/** The options of a slow test or group. */
export const slow: TestOptions = { tags: ['slow'], timeout: 300_000 }

/** The options of a test that runs on both engines and is slow on WebAssembly. */
export const slowOnWasm = (engine: EngineName): TestOptions => (engine === 'wasm' ? slow : {})
