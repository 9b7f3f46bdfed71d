/**
 * The page of varve view looks as in its pictures, which `npm run docs -- --screenshots` writes after a change that is meant. pixelmatch compares
 * them: it ignores the smoothing of edges, in which versions of Chromium differ. A picture with other differences is in target/view.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { reportPage } from '@varve/view'
import pixelmatch from 'pixelmatch'
import type { Browser } from 'playwright-core'
import { PNG } from 'pngjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, startBrowser } from '../../scripts/common/browser.mjs'
import { pathForTest } from '../../scripts/programs.mjs'
import { PICTURES, pictureData, take } from '../../scripts/screenshots/pictures.mjs'
import { makeFolder } from '../folders.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DIFFERENT = join(ROOT, 'target/view')

/** How much a colour may differ, from 0 to 1, and how many pixels may: a word of 8 letters in 12 px has about 150. */
const THRESHOLD = 0.15
const PIXELS_MAX = 100

/** The number of pixels that differ, all of them if the sizes do. Both pictures are kept if that is too many. */
function differing(name: string, taken: Buffer, stored: Buffer): number {
  const [now, before] = [PNG.sync.read(taken), PNG.sync.read(stored)]
  const { width, height } = now
  const difference = new PNG({ width, height })
  const isSameSize = width === before.width && height === before.height
  const pixels = isSameSize
    ? pixelmatch(now.data, before.data, difference.data, width, height, { threshold: THRESHOLD })
    : width * height
  if (pixels <= PIXELS_MAX) return pixels
  mkdirSync(DIFFERENT, { recursive: true })
  writeFileSync(join(DIFFERENT, name), taken)
  if (isSameSize) writeFileSync(join(DIFFERENT, `difference-${name}`), PNG.sync.write(difference))
  return pixels
}

const isReady = hasBrowser() && pathForTest('fonts-dejavu-core') !== undefined

describe.skipIf(!isReady)('the pictures of varve view', () => {
  let [browser, url]: [Browser | undefined, string] = [undefined, '']
  beforeAll(async () => {
    const report = join(makeFolder(), 'report.html')
    writeFileSync(report, reportPage(pictureData()))
    url = pathToFileURL(report).href
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  it.each(PICTURES)('the page looks as in $file', async (picture) => {
    if (browser === undefined) throw new Error('there is no browser')
    const taken = await take(browser, picture, url)
    const pixels = differing(basename(picture.file), taken, readFileSync(join(ROOT, picture.file)))
    expect(
      pixels,
      `the page has changed: compare ${DIFFERENT}, and run 'npm run docs -- --screenshots' if that is meant`,
    ).toBeLessThanOrEqual(PIXELS_MAX)
  })
})
