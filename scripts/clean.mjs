// @ts-check
// `npm run clean`: removes all build output and the servers of tests; node_modules stays.
import { rm } from 'node:fs/promises'
import { packageFolders } from './build/packages.mjs'
import { at } from './root.mjs'
import { runMain, step } from './steps.mjs'

const BUILT = ['target', '.demo', 'coverage', 'packages/varve/generated', 'packages/varve/native', 'test/remote/servers/node/node_modules']

await runMain(async () => {
  for (const folder of [...BUILT, ...packageFolders.map((name) => `${name}/dist`)]) {
    await step(`remove ${folder}`, () => rm(at(folder), { recursive: true, force: true }))
  }
})
