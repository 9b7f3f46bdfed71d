// @ts-check
// The pictures of `varve view` that `npm run docs -- --screenshots` writes, and that `test/view/pictures.test.ts` compares with the page. All show
// view.json, in DejaVu Sans and UTC, so that a picture changes only with the page.
import { readFileSync } from 'node:fs'
import { at } from '../common/root.mjs'

/** What the page shows, as `varve view --json` prints it. */
export const DATA = at('scripts/screenshots/view.json')

const DESKTOP = { width: 1280, height: 1230 }
const PHONE = { width: 390, height: 844 }

/** @typedef {{ file: string, viewport: { width: number, height: number }, colorScheme: 'light' | 'dark', fullPage?: boolean }} Picture */

/** @type {readonly Picture[]} */
export const PICTURES = [
  { file: 'docs/images/view-light.png', viewport: DESKTOP, colorScheme: 'light' },
  { file: 'docs/images/view-dark.png', viewport: DESKTOP, colorScheme: 'dark' },
  { file: 'test/view/pictures/phone.png', viewport: PHONE, colorScheme: 'light', fullPage: true },
]

/** What the page shows in all pictures. @returns {import('varve/cli-json').CliJson['view']} */
export function pictureData() {
  return JSON.parse(readFileSync(DATA, 'utf8'))
}

/**
 * The bytes of a picture of the page at `url`.
 * @param {import('playwright-core').Browser} browser
 * @param {Picture} picture
 * @param {string} url
 */
export async function take(browser, { viewport, colorScheme, fullPage = false }, url) {
  const page = await browser.newPage({ viewport, colorScheme, timezoneId: 'UTC', locale: 'en-GB', bypassCSP: true })
  try {
    await page.goto(url)
    await page.addStyleTag({ content: "html, body, button, input, select { font-family: 'DejaVu Sans' !important }" })
    await page.locator('.treemap').waitFor()
    await page.locator('.charts svg').first().waitFor()
    return await page.screenshot({ fullPage, animations: 'disabled', caret: 'hide' })
  } finally {
    await page.close()
  }
}
