// @ts-check
// `npm run test:safety -- fuzz`: random inputs for everything that parses bytes, with libFuzzer (guided by coverage, so it gets past
// lengths and counts) and without. The unsafe code runs under sanitizers and Miri.
import { inputs } from './fuzz/inputs.mjs'
import { unsafeCode } from './fuzz/unsafe.mjs'
import { onlyNamed, runSuite, rustPart, sample } from './suite.mjs'

await runSuite('fuzz', [sample(rustPart('edited-seeds')), inputs, onlyNamed(unsafeCode)])
