// @ts-check
// `npm run screenshots`: the pictures of `varve view` for docs/images, in light and in dark, from a cache that this script makes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { at } from './root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, step } from './steps.mjs'

const COMMAND = at('packages/varve/dist/bundle/cli.js')

await runMain(async () => {
  await setup()
  const { makeCache } = await import('./screenshots/cache.mjs')
  const { chromium } = await import('playwright-core')
  const folder = await mkdtemp(join(tmpdir(), 'varve-view-'))
  const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    const report = join(folder, 'report.html')
    await makeCache(folder)
    await run(process.execPath, [COMMAND, 'view', '--dir', 'node_modules/.cache/varve', '--out', report], { cwd: folder })
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await step(`docs/images/view-${colorScheme}.png`, async () => {
        const page = await browser.newPage({ viewport: { width: 1280, height: 1230 }, colorScheme })
        await page.goto(pathToFileURL(report).href)
        await page.locator('.treemap').waitFor()
        await page.screenshot({ path: at(`docs/images/view-${colorScheme}.png`) })
      })
    }
  } finally {
    await browser.close()
    await rm(folder, { recursive: true, force: true })
  }
})
