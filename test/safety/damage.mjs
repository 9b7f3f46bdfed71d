// @ts-check
// `npm run test:damage`: caches whose bytes are not what was written, folders that hold what nobody put there, files that
// change while they are open, lengths that lie.
import { api } from './damage/api.mjs'
import { memory } from './damage/memory.mjs'
import { strays } from './damage/strays.mjs'
import { under } from './damage/under.mjs'
import { throughWebpack } from './damage/webpack.mjs'
import { onlyNamed, runSuite, rustPart } from './suite.mjs'

await runSuite('damage', [rustPart('flips'), rustPart('pages'), api, strays, under, ...[memory, throughWebpack].map(onlyNamed)])
