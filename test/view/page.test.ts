/** The page of `varve view` in Chromium: keyboard, screen readers, small screens, light and dark, and texts that attack it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { reportPage, serve, type Server } from '@varve/view'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, startBrowser } from '../../scripts/common/browser.mjs'
import type * as sources from '../../packages/varve/src/cli/view.ts'
import { makeCache } from '../../scripts/screenshots/cache.mjs'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'

const { ViewSource }: typeof sources = await import(
  new URL('../../packages/varve/src/cli/view.ts', import.meta.url).href
)

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Programs for the page, as text, because tests are compiled without the types of browsers. */
const OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true })"
const WIDTH_TOO_MUCH = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
const RUN_AXE =
  "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))"

const HOSTILE =
  '</script><img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>\u202e\u001b[31m'
const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }

interface Opened {
  readonly page: Page
  readonly log: string[]
  readonly requests: string[]
}

describe.skipIf(!hasBrowser())('the page of varve view', () => {
  let [browser, server, report]: [Browser | undefined, Server | undefined, string] = [undefined, undefined, '']
  beforeAll(async () => {
    const folder = makeFolder()
    const dir = await makeCache(folder, { builds: 3, hostile: HOSTILE })
    const source = new ViewSource(dir, folder)
    report = join(folder, 'report.html')
    writeFileSync(report, reportPage(await source.report(true, { signal: undefined, onProgress: undefined })))
    server = await serve(source, { port: 0 })
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  /** The page with its contents, and what its console and its requests were. */
  async function open(
    url: string,
    options: Parameters<Browser['newPage']>[0] = { viewport: DESKTOP },
  ): Promise<Opened> {
    const [log, requests]: [string[], string[]] = [[], []]
    const page = await browser?.newPage(options)
    if (page === undefined) throw new Error('there is no browser')
    page.on('console', (message) => void log.push(message.text()))
    page.on('pageerror', (error) => void log.push(error.message))
    page.on('request', (request) => void requests.push(request.url()))
    await page.goto(url)
    await page.locator('.treemap').waitFor()
    return { page, log, requests }
  }

  const ways = (): [name: string, url: string][] => [
    ['served', server?.url ?? ''],
    ['as a file', pathToFileURL(report).href],
  ]

  /** What axe-core finds, with everything that can be opened open. */
  async function violations(page: Page): Promise<string[]> {
    await page.evaluate(OPEN_ALL)
    await page.evaluate(AXE)
    return page.evaluate<string[]>(RUN_AXE)
  }

  it('a key that is HTML is shown as text, and the page asks no other host for anything', async () => {
    for (const [name, url] of ways()) {
      const { page, log, requests } = await open(url)
      await page.getByText('As a table').first().click()
      await page
        .getByRole('button', { name: /^<\/script>/ })
        .first()
        .click()
      await page.getByText('As a table').first().click()
      expect([name, log, await page.title(), await page.locator('img').count()]).toEqual([
        name,
        [],
        expect.stringMatching(/^Varve: /),
        0,
      ])
      expect(await page.locator('main').innerText()).toContain(String.raw`\u{202e}\u{1b}[31m`)
      expect(requests.every((each) => each.startsWith(url) || each === 'data:,')).toBe(true)
      await page.close()
    }
  })

  const colours = [
    ['light', {}],
    ['dark', slow],
  ] as const
  for (const [colorScheme, speed] of colours) {
    it(`axe-core finds nothing wrong with the page in ${colorScheme}, on a desktop and on a phone`, speed, async () => {
      for (const viewport of [DESKTOP, PHONE]) {
        const { page } = await open(server?.url ?? '', { viewport, colorScheme })
        expect(await violations(page)).toEqual([])
        await page.getByRole('button', { name: 'src/pages/part-0.js', exact: true }).first().click()
        await page.getByText('Task transform').waitFor()
        expect(await violations(page)).toEqual([])
        await page.close()
      }
    })
  }

  it('the page is used with the keyboard alone: open a task, a directory and a module, and close its explanation', async () => {
    const { page } = await open(server?.url ?? '')
    const enter = async (name: RegExp): Promise<void> => {
      const part = page.locator('.treemap').getByRole('button', { name }).first()
      const label = await part.getAttribute('title')
      const focused = (): Promise<string | null> =>
        page.evaluate<string | null>("document.activeElement.getAttribute('title')")
      for (let tabs = 0; tabs < 60 && (await focused()) !== label; tabs++) await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
    }
    await enter(/^task:transform/)
    await enter(/^packages\/api\//)
    await enter(/^packages\/api\/part-/)
    await page.getByRole('dialog', { name: /^Why packages\/api\/part-/ }).waitFor()
    await page.getByText('a hit, if its inputs are the same').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.getByRole('navigation', { name: 'Path' }).innerText()).toMatch(
      /All[^]*task:transform[^]*packages\/api\//,
    )
    await page.close()
  })

  it('nothing is wider than the screen, on a desktop and on a phone', async () => {
    for (const viewport of [DESKTOP, PHONE]) {
      for (const [name, url] of ways()) {
        const { page } = await open(url, { viewport })
        await page.evaluate(OPEN_ALL)
        const wide = await page.evaluate<number>(WIDTH_TOO_MUCH)
        expect([name, viewport.width, wide]).toEqual([name, viewport.width, 0])
        await page.close()
      }
    }
  })

  it('a report explains the misses of the last build without a server, and a page verifies on request', async () => {
    const { page } = await open(pathToFileURL(report).href)
    await page.getByText('input mode development -> production').click()
    await page.getByRole('button', { name: 'src/pages/part-3.js', exact: true }).click()
    expect(await page.getByRole('dialog').innerText()).toContain('mode')
    await page.getByRole('button', { name: 'Close' }).click()
    expect(await page.locator('#health').innerText()).toContain('Sound: ')
    await page.close()
    const live = await open(server?.url ?? '')
    await live.page.getByRole('button', { name: 'Verify every byte' }).click()
    await live.page.getByText(/^Sound: /).waitFor()
    await live.page.close()
  })
})
