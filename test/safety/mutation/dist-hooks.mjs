// @ts-check
// Makes the edit that VARVE_PLANTED_EDIT names in programs that a test starts. These run `dist/bundle`; the hooks lead them to the
// modules of `dist` instead. While Node loads the module that comes from the edited source, in the repository or in a copy of the
// package, it gets that source with the edit.
import { readFile } from 'node:fs/promises'
import { transform } from 'esbuild'
import { at } from '../../../scripts/common/root.mjs'
import { packageFolders, sourcesOf } from '../../../scripts/build/packages.mjs'
import { applyEdit } from './apply.mjs'
import { allEdits, EDIT_VARIABLE } from './edits.mjs'

const edit = (await allEdits()).find(({ name }) => name === process.env[EDIT_VARIABLE])
const [, name, path] = /^packages\/(\w+)\/src\/(.*)\.ts$/.exec(edit?.file ?? '') ?? []

const REGISTER = `import { register } from 'node:module'; register('${import.meta.url}')`

/** The option of `node` that registers these hooks. */
export const DIST_HOOKS = `--import=data:text/javascript,${encodeURIComponent(REGISTER)}`

/** Ends of URLs: of each bundle of an entry point or program, and of the module that it was made from. */
const modules = packageFolders.flatMap((folder) => {
  const dist = `${folder.replace('packages', '')}/dist`
  return Object.entries(sourcesOf(folder)).map(([bundle, source]) => ({
    bundle: `${dist}/bundle/${bundle}.js`,
    module: `${dist}/${source.replace(/ts$/, 'js')}`,
  }))
})

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, nextResolve) {
  const found = await nextResolve(specifier, context)
  const pair = modules.find(({ bundle }) => found.url.endsWith(bundle))
  return pair === undefined ? found : { ...found, url: found.url.replace(pair.bundle, pair.module) }
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (edit === undefined || !url.endsWith(`/${name}/dist/${path}.js`)) return nextLoad(url, context)
  const { code } = await transform(applyEdit(edit, await readFile(at(edit.file), 'utf8')), { loader: 'ts' })
  const source = code.replaceAll(/(["'])(\.{1,2}\/[^"']+)\.ts\1/g, '$1$2.js$1')
  return { format: 'module', source, shortCircuit: true }
}
