/** Headless Chromium for the tests of the page: that of the system, because playwright-core brings none. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of the browser: CHROMIUM, or the first one on PATH; undefined if there is none. */
export const CHROMIUM: string | undefined = [
  process.env['CHROMIUM'] ?? '',
  ...(process.env['PATH'] ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name))),
].find((path) => path !== '' && existsSync(path))

if (CHROMIUM === undefined) {
  process.stderr.write('\n  SKIPPED the page in a browser: install Chromium (on Debian: apt-get install chromium), or set CHROMIUM to its path\n')
}

export function startBrowser(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('there is no Chromium')
  return chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}
