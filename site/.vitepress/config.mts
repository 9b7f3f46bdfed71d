/**
 * The site: the Markdown files of the repository as they are, copied to `generated` by `scripts/docs.mjs`. The sidebar is the list of pages
 * in `docs/README.md`. A dead link fails the build.
 */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'

const HEADING_OR_LINK = /^## (?<heading>.+)$|\[(?<text>[^\]]+)\]\((?<path>[^)]+)\.md\)/gm

/** The headings of the list, each with the links below it. */
function sidebar(list: string): DefaultTheme.SidebarItem[] {
  const groups: { text: string; items: { text: string; link: string }[] }[] = [
    {
      text: 'Varve',
      items: [
        { text: 'What Varve is', link: '/' },
        { text: 'API', link: '/docs/api' },
      ],
    },
  ]
  for (const { groups: { heading, text = '', path = '' } = {} } of list.matchAll(HEADING_OR_LINK)) {
    if (heading === undefined) groups.at(-1)?.items.push({ text, link: posix.join('/docs', path) })
    else groups.push({ text: heading, items: [] })
  }
  return groups
}

export default defineConfig({
  title: 'Varve',
  description: 'A persistent task cache for Node.js build tools',
  srcDir: 'generated',
  outDir: 'dist',
  cleanUrls: true,
  rewrites: { 'README.md': 'index.md', 'docs/README.md': 'docs/index.md' },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: sidebar(readFileSync(new URL('../../docs/README.md', import.meta.url), 'utf8')),
  },
})
