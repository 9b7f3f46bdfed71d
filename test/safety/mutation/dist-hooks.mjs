// @ts-check
// Makes the edit that VARVE_PLANTED_EDIT names in programs that a test starts: these run `dist`. While Node loads the module of
// `dist` that comes from the edited source, in the repository or in a copy of the package, it gets that source with the edit.
import { readFile } from 'node:fs/promises'
import { transform } from 'esbuild'
import { at } from '../../../scripts/root.mjs'
import { applyEdit } from './apply.mjs'
import { allEdits, EDIT_VARIABLE } from './edits.mjs'

const edit = (await allEdits()).find(({ name }) => name === process.env[EDIT_VARIABLE])
const [, name, path] = /^packages\/(\w+)\/src\/(.*)\.ts$/.exec(edit?.file ?? '') ?? []

const REGISTER = `import { register } from 'node:module'; register('${import.meta.url}')`

/** The option of `node` that registers these hooks. */
export const DIST_HOOKS = `--import=data:text/javascript,${encodeURIComponent(REGISTER)}`

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (edit === undefined || !url.endsWith(`/${name}/dist/${path}.js`)) return nextLoad(url, context)
  const { code } = await transform(applyEdit(edit, await readFile(at(edit.file), 'utf8')), { loader: 'ts' })
  const source = code.replaceAll(/(["'])(\.{1,2}\/[^"']+)\.ts\1/g, '$1$2.js$1')
  return { format: 'module', source, shortCircuit: true }
}
