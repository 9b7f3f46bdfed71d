// @ts-check
// Headless Chromium: that of the system, because playwright-core brings none.
import { chromium } from 'playwright-core'
import { pathForTest, pathOf } from '../programs.mjs'

/** Whether tests of a page can run. Without Chromium they are skipped; in continuous integration that is an error. */
export const hasBrowser = () => pathForTest('chromium') !== undefined

/** @returns {Promise<import('playwright-core').Browser>} */
export function startBrowser() {
  const executablePath = pathOf('chromium')
  if (executablePath === undefined)
    throw new Error("there is no Chromium: run 'npm run setup -- --programs', or set CHROMIUM to its path")
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}
