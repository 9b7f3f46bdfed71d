/**
 * The HTML of the page: one file with its script and style. Its policy names both by their digests, so nothing else runs, and
 * forbids all requests but those to the server that sent the page.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { ViewJson } from 'varve/cli-json'

/** A page, and the policy that it also has as an element. */
export interface Document {
  readonly html: string
  readonly policy: string
}

/** A page that needs nothing but itself. */
export function reportPage(view: ViewJson): string {
  return documentOf(view).html
}

/** The page about `view`, or one that asks its server. */
export function documentOf(view?: ViewJson): Document {
  const style = part('page.css')
  const script = part('page').replaceAll('</script', String.raw`<\/script`)
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    `connect-src ${view === undefined ? "'self'" : "'none'"}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Varve</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
${view === undefined ? '' : `<script type="application/json" id="data">${jsonText(view)}</script>\n`}<script type="module">${script}</script>
</body>
</html>
`
  return { html, policy }
}

/** JSON that ends no element. */
function jsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`)
}

/** A file of this package, by the name under which it is exported. */
function part(name: 'page' | 'page.css'): string {
  return readFileSync(createRequire(import.meta.url).resolve(`@varve/view/${name}`), 'utf8')
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
