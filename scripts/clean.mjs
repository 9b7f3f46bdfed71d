// @ts-check
// `npm run clean`: removes all build output; node_modules stays.
import { rm } from 'node:fs/promises'
import { packageFolders } from './build/packages.mjs'
import { at } from './common/root.mjs'
import { runMain, step } from './common/steps.mjs'

const BUILT = ['target', '.demo', 'coverage', 'packages/varve/generated', 'packages/varve/native']

await runMain(async () => {
  for (const folder of [...BUILT, ...packageFolders.map((name) => `${name}/dist`)]) {
    await step(`remove ${folder}`, () => rm(at(folder), { recursive: true, force: true }))
  }
})
