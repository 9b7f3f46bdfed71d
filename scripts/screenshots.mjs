// @ts-check
// `npm run docs -- --screenshots`: the pictures of `varve view`, for the documentation and for the tests.
//
//   --data   first writes what they show again, from a cache that this script makes
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { mkdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { at } from './common/root.mjs'
import { PICTURES, pictureData, take } from './screenshots/pictures.mjs'
import { setup } from './setup.mjs'
import { runMain, step } from './common/steps.mjs'

await runMain(async () => {
  await setup()
  const { reportPage } = await import('@varve/view')
  const { startBrowser } = await import('./common/browser.mjs')
  const folder = await mkdtemp(join(tmpdir(), 'varve-view-'))
  const browser = await startBrowser()
  try {
    if (process.argv.includes('--data')) {
      const { writeData } = await import('./screenshots/data.mjs')
      await step('scripts/screenshots/view.json', () => writeData(folder))
    }
    const report = join(folder, 'report.html')
    await writeFile(report, reportPage(pictureData()))
    for (const picture of PICTURES) {
      await step(picture.file, async () => {
        mkdirSync(dirname(at(picture.file)), { recursive: true })
        await writeFile(at(picture.file), await take(browser, picture, pathToFileURL(report).href))
      })
    }
  } finally {
    await browser.close()
    await rm(folder, { recursive: true, force: true })
  }
})
