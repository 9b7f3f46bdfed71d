/** Tests of the API on the package with planted faults: the alias leads there, everything else is as always. */
import { defineConfig } from 'vitest/config'
import usual from '../../../vitest.config.ts'

export default defineConfig({
  ...usual,
  resolve: { alias: [{ find: /^varve$/, replacement: `${process.env['VARVE_PACKAGE']}/src/index.ts` }] },
})
