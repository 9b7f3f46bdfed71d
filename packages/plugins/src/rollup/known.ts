/** Known properties of popular plugins: which read files that they do not report, and which write the path of a module into its code. */
import { textOf } from '../build/files.ts'

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
