/**
 * The site: the Markdown files of the repository as they are, copied to `generated` by `scripts/docs.mjs`, with a sidebar in
 * the order in which a reader needs them. A dead link fails the build.
 */
import { defineConfig } from 'vitepress'

const page = (text: string, link: string): { text: string; link: string } => ({ text, link })

export default defineConfig({
  title: 'Varve',
  description: 'A persistent task cache for Node.js build tools',
  srcDir: 'generated',
  outDir: 'dist',
  cleanUrls: true,
  rewrites: { 'README.md': 'index.md' },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      {
        text: 'Introduction',
        items: [page('What Varve is', '/'), page('Getting started', '/docs/getting-started'), page('Concepts', '/docs/concepts')],
      },
      {
        text: 'Reference',
        items: [
          page('API', '/docs/api'),
          page('Command reference', '/docs/command'),
          page('File format', '/crates/core/FORMAT'),
          page('Changelog', '/CHANGELOG'),
        ],
      },
      {
        text: 'Guides',
        items: [
          page('Tasks', '/docs/tasks'),
          page('Files', '/docs/files'),
          page('Workers and processes', '/docs/workers'),
          page('Layers', '/docs/layers'),
          page('Remote', '/docs/remote'),
          page('Export and import', '/docs/export'),
          page('Build history and reports', '/docs/history'),
          page('View in the browser', '/docs/view'),
          page('CI, Docker, worktrees', '/docs/ci'),
          page('Platforms', '/docs/platforms'),
          page('Troubleshooting', '/docs/troubleshooting'),
        ],
      },
      {
        text: 'Tools',
        items: [
          page('webpack', '/docs/webpack'),
          page('Coming from webpack’s cache', '/docs/migrating-from-webpack-cache'),
          page('Vite', '/docs/vite'),
          page('Vitest', '/docs/vitest'),
          page('Rollup', '/docs/rollup'),
          page('Rolldown', '/docs/rolldown'),
          page('esbuild', '/docs/esbuild'),
          page('Rspack', '/docs/rspack'),
          page('Babel', '/docs/babel'),
          page('Jest', '/docs/jest'),
          page('Metro', '/docs/metro'),
          page('Parcel', '/docs/parcel'),
          page('Keyv', '/docs/keyv'),
          page('unstorage', '/docs/unstorage'),
        ],
      },
      {
        text: 'Why to trust it',
        items: [
          page('How it works', '/docs/architecture'),
          page('Guarantees', '/docs/guarantees'),
          page('Benchmarks', '/docs/benchmarks'),
          page('All workloads', '/bench/README'),
          page('Security', '/SECURITY'),
        ],
      },
    ],
  },
})
