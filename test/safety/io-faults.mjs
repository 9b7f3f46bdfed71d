// @ts-check
// npm run test:io-faults: any call of the file system fails. Parts in `engine/` run on a simulated disk, others on the package from outside.
import { mountingPart } from './io-faults/disk.mjs'
import { inject } from './io-faults/inject.mjs'
import { runSuite, rustPart, sample } from './suite.mjs'

const outside = [
  inject,
  sample(mountingPart('full', 'full.mjs')),
  mountingPart('readonly', 'readonly.mjs', ['prlimit']),
  sample(mountingPart('eio', 'eio.mjs', ['mkfs.ext4', 'losetup'])),
]

await runSuite('io-faults', [...outside, rustPart('calls')])
