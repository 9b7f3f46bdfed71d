// A plugin that compiles Markdown to HTML and highlights its code, for 2 languages and 2 themes.
import MarkdownIt from 'markdown-it'
import { createHighlighter } from 'shiki'

const themes = { light: 'github-light', dark: 'github-dark' }
/** Created for the first page that is not in the cache. */
let compiler

async function createCompiler() {
  const highlighter = await createHighlighter({ langs: ['svelte', 'ts'], themes: Object.values(themes) })
  // Without a limit of time, a page is highlighted in the same way on a busy machine.
  return new MarkdownIt({ highlight: (code, lang) => highlighter.codeToHtml(code, { lang, themes, tokenizeTimeLimit: 0 }) })
}

export function markdown() {
  return {
    name: 'markdown',
    async transform(text, id) {
      if (!id.endsWith('.md')) return null
      compiler ??= createCompiler()
      const html = (await compiler).render(text)
      return { code: `export const html = ${JSON.stringify(html)}`, map: { mappings: '' }, moduleType: 'js' }
    },
  }
}
