/**
 * Tests of the API with a planted defect: on the package with planted faults (VARVE_PACKAGE), or on the sources with one
 * edit made as they are loaded (VARVE_PLANTED_EDIT), also in programs that a test starts. All other settings are those of the
 * usual configuration.
 */
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import usual from '../../../vitest.config.ts'
import { applyEdit } from './apply.mjs'
import { DIST_HOOKS } from './dist-hooks.mjs'
import { allEdits, EDIT_VARIABLE } from './edits.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const { [EDIT_VARIABLE]: editName = '', VARVE_PACKAGE: plantedPackage } = process.env

/** Makes the edit of that name while its source is loaded. Tests that import `dist` get the sources instead. */
async function planted(name: string): Promise<Plugin> {
  const edit = (await allEdits()).find((one) => one.name === name)
  if (edit === undefined) throw new Error(`no edit is named '${name}'`)
  return {
    name: 'planted',
    enforce: 'pre',
    async resolveId(id, importer, options) {
      const found = await this.resolve(id, importer, { ...options, skipSelf: true })
      const path = /^(.*\/packages\/\w+)\/dist\/(.*)\.js$/.exec(found?.id ?? '')
      return path === null ? found : `${path[1]}/src/${path[2]}.ts`
    },
    transform: (code, id) => (id === `${root}${edit.file}` ? applyEdit(edit, code) : undefined),
  }
}

if (editName !== '') process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} ${DIST_HOOKS}`

export default defineConfig({
  ...usual,
  ...(plantedPackage !== undefined && {
    resolve: { alias: [{ find: /^varve$/, replacement: `${plantedPackage}/src/index.ts` }] },
  }),
  plugins: editName === '' ? [] : [await planted(editName)],
})
