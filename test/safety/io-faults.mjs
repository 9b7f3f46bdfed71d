// @ts-check
// `npm run test:safety -- io-faults`: any call of the file system fails. The part `calls` runs on a simulated disk, the others run the
// built package on real ones.
import { mountingPart } from './io-faults/disk.mjs'
import { inject } from './io-faults/inject.mjs'
import { runSuite, rustPart, sample } from './suite.mjs'

const outside = [
  inject,
  sample(mountingPart('full', 'full.mjs')),
  mountingPart('read-only', 'read-only.mjs', ['prlimit']),
  sample(mountingPart('eio', 'eio.mjs', ['mkfs.ext4', 'losetup'])),
]

await runSuite('io-faults', [rustPart('calls'), ...outside])
