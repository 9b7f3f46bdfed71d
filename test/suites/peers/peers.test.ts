/** The peer ranges of the plugins, without the builds of `npm run test:suites -- peers`. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { PEERS } from './projects.mjs'

it('every peer is optional, and test:suites -- peers builds a project with it', () => {
  const path = fileURLToPath(new URL('../../../packages/plugins/package.json', import.meta.url))
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(path, 'utf8'))
  const names = Object.keys(peerDependencies)
  expect(names.filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([])
  const tools = PEERS.map(({ tool }) => tool)
  expect(names.filter((name) => !tools.includes(name))).toEqual([])
})
