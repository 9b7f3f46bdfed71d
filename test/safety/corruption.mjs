// @ts-check
// `npm run test:damage`: caches whose bytes are not what was written, folders that hold what nobody put there, files that
// change while they are open, lengths that lie.
import { api } from './damage/api.mjs'
import { throughBuilds } from './damage/builds.mjs'
import { keyed } from './damage/keyed.mjs'
import { memory } from './damage/memory.mjs'
import { strays } from './damage/strays.mjs'
import { under } from './damage/under.mjs'
import { runSuite, rustPart } from './suite.mjs'

const builds = [
  throughBuilds('webpack', { flips: 35, others: 24, whole: 6 }),
  ...['vite', 'rollup', 'esbuild'].map((tool) => throughBuilds(tool, { flips: 4, others: 2, whole: 2 })),
]

await runSuite('damage', [rustPart('flips'), rustPart('pages'), api, keyed, strays, under, memory, ...builds])
