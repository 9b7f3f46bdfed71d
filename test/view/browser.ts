/** Headless Chromium for the tests of the page: that of the system, because playwright-core brings none. */
import { type Browser, chromium } from 'playwright-core'
import { pathForTest } from '../../scripts/programs/installed.mjs'

/** The path of the browser; undefined if there is none, and tests are skipped. */
export const CHROMIUM: string | undefined = pathForTest('chromium')

export function startBrowser(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('there is no Chromium')
  return chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}
