// @ts-check
// The check of import cycles finds a planted one, at its lines.
import { expect, it } from 'vitest'
import { checkCycles } from './cycles.mjs'

/** @param {Record<string, string>} files @returns {import('./source.mjs').Source[]} */
const sources = (files) =>
  Object.entries(files).map(([name, code]) => ({
    path: `packages/a/src/${name}`,
    language: 'typescript',
    text: code,
    code,
  }))

it('imports that form a cycle are reported, types and dynamic imports included, and no others', () => {
  const findings = checkCycles(
    sources({
      'top.ts': "import { one } from './one.ts'\n",
      'one.ts': "import { leaf } from './leaf.ts'\nimport type { Two } from './two.ts'\n",
      'two.ts': "export const one = () => import('./one.ts')\n",
      'leaf.ts': "import * as fs from 'node:fs'\n",
    }),
  )
  expect(findings.map(({ path, line }) => `${path}:${line}`)).toEqual([
    'packages/a/src/one.ts:2',
    'packages/a/src/two.ts:1',
  ])
})
