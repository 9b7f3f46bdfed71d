// @ts-check
// `npm run test:fuzz`: libFuzzer feeds the engine (coverage-guided, so it finds its way behind lengths and counts), and
// the unsafe code runs under the address sanitizer and Miri.
import { inputs } from './fuzz/inputs.mjs'
import { unsafeCode } from './fuzz/unsafe.mjs'
import { onlyNamed, runSuite, rustPart, sample } from './suite.mjs'

await runSuite('fuzz', [sample(rustPart('edited-seeds')), inputs, onlyNamed(unsafeCode)])
