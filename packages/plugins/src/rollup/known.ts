/**
 * Known properties of popular plugins: which of them keep state between hooks, so that they need every call, which read files
 * that they do not report, and which write the path of a module into its code.
 */
import { textOf } from '../build/files.ts'

/** Plugins that are never wrapped, with the reason. A name also matches names that continue it with a colon. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['commonjs', 'it remembers in one hook what it resolves in another'],
  ['node-resolve', 'it remembers which packages have side effects'],
  ['rpt2', 'it keeps the program of TypeScript, and has a cache of its own'],
  ['typescript', 'it keeps the program of TypeScript'],
  ['postcss', 'it collects styles and writes them at the end'],
  ['svelte', 'it remembers the styles of each component'],
  ['vite-plugin-svelte', 'it remembers the styles of each component'],
  ['@tailwindcss/vite', 'it collects class names from all modules'],
  ['unocss', 'it collects class names from all modules'],
  ['vite:css', 'it collects styles for vite:css-post'],
  ['vite:css-post', 'it collects styles and writes them at the end'],
  ['vite:asset', 'it collects assets and writes them at the end'],
  ['vite:worker', 'it builds workers and writes them at the end'],
])

/** The reason why a plugin of this name cannot be wrapped; undefined if it can. */
export function refusalOf(name: string): string | undefined {
  for (const [refused, reason] of REFUSED) if (name === refused || name.startsWith(`${refused}:`)) return reason
  return undefined
}

/** Plugins that write the path of a module into its code, from nothing but the id of the call. */
const NAMING: ReadonlySet<string> = new Set(['@mdx-js/rollup', 'vite:vue', 'unplugin-vue'])

/** Whether a plugin writes this path into what it makes of this code by itself: the code does not have it. */
export function namesOwnPath(plugin: string, path: string, code: unknown): boolean {
  return NAMING.has(plugin) && typeof code === 'string' && !code.includes(path)
}

/**
 * Whether a call depends on files that the plugin does not report. Vue's compiler reads the types that a component imports for its
 * macros, and compiles a block in a file of its own with what it knows of the component.
 */
export function hasHiddenFiles(plugin: string, id: string, code: string | undefined): boolean {
  if (plugin !== 'vite:vue' && plugin !== 'unplugin-vue') return false
  const [path = ''] = id.split('?', 1)
  if (/[?&]vue\b/.test(id) && /[?&]src=/.test(id)) return true
  if (!path.endsWith('.vue') || /[?&]type=style\b/.test(id)) return false
  const isWhole = code !== undefined && path === id
  const source = isWhole ? code : (textOf(path) ?? '')
  return /\blang=["']?tsx?\b/.test(source) && /\bimport\b/.test(source) && /\bdefine[A-Z]\w*\s*</.test(source)
}
