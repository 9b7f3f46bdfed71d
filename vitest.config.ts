/** Tests run the TypeScript sources; child processes and workers that a test starts run the built `dist`. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^varve$/, replacement: source('packages/varve/src/index.ts') },
      { find: /^varve\/(files|json)$/, replacement: source('packages/varve/src/$1/index.ts') },
      { find: /^varve\/internal$/, replacement: source('packages/varve/src/internal.ts') },
      { find: /^varve\/reads$/, replacement: source('packages/varve/src/reads/index.ts') },
      { find: /^@varve\/remote$/, replacement: source('packages/remote/src/index.ts') },
      { find: /^@varve\/view$/, replacement: source('packages/view/src/index.ts') },
      { find: /^@varve\/plugins\/(.*)$/, replacement: source('packages/plugins/src/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts', 'scripts/**/*.test.mjs'],
    maxWorkers: '150%', // tests wait for disks, servers and child processes
    tags: [
      {
        name: 'slow',
        description: 'takes seconds, and a faster test covers the same promise: runs in `npm test -- --all`',
      },
    ],
    pool: 'forks', // a crash of the addon takes one file's process along, not the runner
    testTimeout: 60_000, // some tests build projects or start processes, on machines with two busy cores
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
})
