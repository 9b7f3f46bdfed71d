// @ts-check
// `npm run docs`: builds the site from the Markdown files of the repository, and from an API page that is made of the types of `varve`,
// into site/dist. A dead link, or a type without documentation, fails the build; `npm run docs -- --check` does the same.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, step } from './common/steps.mjs'
import { npm } from './common/tools.mjs'

const SITE = 'site'
const PAGES = `${SITE}/generated`

/** The pages of the site besides those in docs/, and folders of pages. */
const OTHERS = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'LICENSE',
  'bench/README.md',
  'bench/limits',
  'crates/core/FORMAT.md',
  'test/README.md',
  'test/safety/README.md',
  'test/suites/README.md',
]

/** @param {string} name @param {readonly string[]} args */
const tool = (name, args) => run(process.execPath, [at(`${SITE}/node_modules/${name}`), ...args], { cwd: at(SITE) })

/** Generates the page from the types. */
async function apiPage() {
  const made = `${SITE}/.api`
  await tool('typedoc/bin/typedoc', ['--out', at(made)])
  const page = readFileSync(at(`${made}/api.md`), 'utf8')
  rmSync(at(made), { recursive: true })
  return page
}

function copyPages() {
  rmSync(at(PAGES), { recursive: true, force: true })
  const docs = readdirSync(at('docs')).map((name) => `docs/${name}`)
  const examples = readdirSync(at('examples')).map((name) => `examples/${name}/README.md`)
  for (const path of [...OTHERS, ...docs, ...examples]) {
    mkdirSync(dirname(at(`${PAGES}/${path}`)), { recursive: true })
    cpSync(at(path), at(`${PAGES}/${path}`), { recursive: true })
  }
}

await runMain(async () => {
  await setup()
  const isInstalled = existsSync(at(`${SITE}/node_modules/.package-lock.json`))
  if (!isInstalled) await step('install the site', () => npm(['ci', '--no-audit', '--no-fund', '--prefix', at(SITE)]))
  await step('pages', copyPages)
  await step('API page', async () => writeFileSync(at(`${PAGES}/docs/api.md`), await apiPage()))
  await step('site, links checked', () => tool(join('vitepress', 'bin', 'vitepress.js'), ['build']))
})
