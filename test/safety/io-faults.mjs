// @ts-check
// npm run test:faults: any call of the file system fails. Parts in `engine/` run on a simulated disk, others on the package from outside.
import { mountingPart } from './faults/outside/disk.mjs'
import { inject } from './faults/outside/inject.mjs'
import { runSuite, rustPart } from './suite.mjs'

const outside = [
  inject,
  mountingPart('full', 'full.mjs'),
  mountingPart('readonly', 'readonly.mjs', ['prlimit']),
  mountingPart('eio', 'eio.mjs', ['mkfs.ext4', 'losetup']),
]

await runSuite('faults', [...outside, rustPart('calls')])
