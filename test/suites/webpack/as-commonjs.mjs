// @ts-check
// Varve as CommonJS, one file for each file, in a `node_modules` of its own: jest cannot require ES modules, and every
// test has to load Varve in its own realm, as it loads webpack.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { at } from '../../../scripts/common/root.mjs'

/** What each package consists of, once it is built. */
const PACKAGES = [
  { source: 'packages/varve', target: 'varve', folders: ['dist', 'generated', 'native'] },
  { source: 'packages/plugins', target: '@varve/plugins', folders: ['dist'] },
]

/** The `varve` command awaits at its top, which CommonJS cannot; no test runs it. */
const LEFT_OUT = new Set(['cli', 'cli.js'])

const META = {
  'import.meta.url': '__meta_url',
  'import.meta.dirname': '__dirname',
  'import.meta.filename': '__filename',
  'import.meta.resolve': '__meta_resolve',
}

const HEAD = `const __meta_url = require('node:url').pathToFileURL(__filename).href
const __meta_resolve = (name) => require('node:url').pathToFileURL(require.resolve(name)).href
`

/**
 * Writes both packages below `folder/node_modules`.
 * @param {string} folder
 */
export async function writeAsCommonJs(folder) {
  await rm(folder, { recursive: true, force: true })
  for (const { source, target, folders } of PACKAGES) {
    const home = join(folder, 'node_modules', target)
    for (const part of folders) await writeTree(at(join(source, part)), join(home, part))
    const { type: _, ...manifest } = JSON.parse(await readFile(at(join(source, 'package.json')), 'utf8'))
    await writeFile(join(home, 'package.json'), JSON.stringify(manifest))
  }
}

/** @param {string} source @param {string} target */
async function writeTree(source, target) {
  await mkdir(target, { recursive: true })
  for (const entry of await readdir(source, { withFileTypes: true })) {
    if (LEFT_OUT.has(entry.name)) continue
    const [from, to] = [join(source, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await writeTree(from, to)
    else if (entry.name.endsWith('.js')) await writeFile(to, await commonJs(from))
    else await cp(from, to)
  }
}

/** @param {string} path */
async function commonJs(path) {
  const source = await readFile(path, 'utf8')
  const options = /** @type {const} */ ({
    format: 'cjs',
    target: 'node20',
    define: META,
    supported: { 'dynamic-import': false },
  })
  return HEAD + (await transform(source, options)).code
}
