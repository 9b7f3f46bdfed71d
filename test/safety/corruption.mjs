// @ts-check
// `npm run test:safety -- corruption`: caches with changed bytes, foreign files in the cache directory, files that change while they
// are open, and false lengths.
import { api } from './corruption/api.mjs'
import { throughBuilds } from './corruption/builds.mjs'
import { authenticated } from './corruption/authenticated.mjs'
import { memory } from './corruption/memory.mjs'
import { strays } from './corruption/strays.mjs'
import { under } from './corruption/under.mjs'
import { runSuite, rustPart, sample } from './suite.mjs'

const builds = [
  throughBuilds('webpack', { flips: 35, others: 24, whole: 6 }),
  ...['vite', 'rollup', 'esbuild'].map((tool) => throughBuilds(tool, { flips: 4, others: 2, whole: 2 })),
]

await runSuite('corruption', [
  rustPart('flips'),
  rustPart('pages'),
  sample(authenticated),
  strays,
  api,
  under,
  memory,
  ...builds,
])
