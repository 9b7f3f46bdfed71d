/**
 * Whether a plugin may keep something of one module until a later hook. A hit skips the hook that fills this state, so such a plugin is
 * not cached. Its hooks decide, and those of the other plugins that its package returns:
 *
 *   generateBundle, renderChunk, buildEnd ...    see more than one module
 *   load with resolveId or configureServer       serves modules of its own, which may be made of what `transform` kept
 *
 * The exceptions are plugins that are known to keep nothing, and those with the option `stateless: true`.
 */
import { type HookedPlugin, isHook } from './hooks.ts'
import { textOf } from '../host/files.ts'

/** Hooks that see more than one module, or run after all of them. */
const OF_SEVERAL_MODULES: readonly string[] = [
  'generateBundle',
  'renderStart',
  'renderChunk',
  'renderError',
  'augmentChunkHash',
  'writeBundle',
  'closeBundle',
  'buildEnd',
  'moduleParsed',
  'banner',
  'footer',
  'intro',
  'outro',
  'resolveFileUrl',
  'resolveImportMeta',
  'renderDynamicImport',
  'transformIndexHtml',
  'buildApp',
]

/** A plugin that was tested: the hooks of the above that it may have, and why they need nothing of a module. */
interface KnownPlugin {
  readonly hooks: readonly string[]
  readonly why: string
}

/** The plugins that keep nothing, by name. `test/suites/known` builds a project with each. */
const STATELESS: ReadonlyMap<string, KnownPlugin> = new Map([
  ['vite:vue', { hooks: ['load'], why: 'a part of a component is made from its file again' }],
  ['unplugin-vue', { hooks: ['load'], why: 'a part of a component is made from its file again' }],
  ['vite:vue-jsx', { hooks: ['load'], why: 'its own module is a constant' }],
  ['vite:react-babel', { hooks: ['load'], why: 'its own module is a constant' }],
  ['vite:react-swc', { hooks: ['load', 'transformIndexHtml'], why: 'its own module and its script are constants' }],
  ['solid', { hooks: ['load'], why: 'its own module is a constant' }],
  ['babel', { hooks: ['load', 'closeBundle'], why: 'its own module are helpers; `closeBundle` ends its workers' }],
  ['@rolldown/plugin-babel', { hooks: ['closeBundle'], why: '`closeBundle` ends its workers' }],
  ['esbuild', { hooks: ['renderChunk'], why: 'it minifies the chunk that it gets' }],
  ['@mdx-js/rollup', { hooks: [], why: 'it has one hook' }],
])

/** Plugins whose state no hook shows. */
const STATEFUL: ReadonlyMap<string, string> = new Map([
  ['@tailwindcss/vite', 'it makes styles of the class names in all modules'],
])

/** Other plugins that `test/suites/known` builds a project with: their hooks show nothing to keep. */
const TESTED: ReadonlySet<string> = new Set([
  '@rolldown/plugin-babel',
  'vite-plugin-svgr',
  'svgr',
  'vite-plugin-lingui',
])

/** Whether a plugin with this name was tested to keep nothing, whatever its hooks. */
export function isKnownSafe({ name }: HookedPlugin): boolean {
  return STATELESS.has(name) || TESTED.has(name)
}

/** Whether a plugin with this name was tested. Its results may lead to modules of its own. */
export function isKnownStateless({ name }: HookedPlugin): boolean {
  return STATELESS.has(name)
}

/** Why the results of a plugin are not stored; undefined if it keeps nothing. `all`: the plugins of the build. */
export function stateOf(plugin: HookedPlugin, all: readonly HookedPlugin[]): string | undefined {
  const known = STATELESS.get(plugin.name)
  const stateful = Array.from(STATEFUL, ([name, reason]) => (isOfPackage(plugin.name, name) ? reason : undefined))
  const family = known === undefined ? all.filter(({ name }) => isOfPackage(name, plugin.name)) : []
  const members = [plugin, ...family.filter((one) => one !== plugin)]
  return stateful.find((reason) => reason !== undefined) ?? stateInHooks(plugin, members, known?.hooks ?? [])
}

function stateInHooks(
  plugin: HookedPlugin,
  members: readonly HookedPlugin[],
  allowed: readonly string[],
): string | undefined {
  for (const member of members) {
    const hook = OF_SEVERAL_MODULES.find((name) => !allowed.includes(name) && isHook(member, name))
    if (hook !== undefined) return `its hook ${nameOf(hook, member, plugin)} may use what it keeps of each module`
  }
  const loading = members.find((member) => isHook(member, 'load'))
  const serving = members.find((member) => isHook(member, 'resolveId') || isHook(member, 'configureServer'))
  if (loading === undefined || serving === undefined || allowed.includes('load')) return undefined
  return `its hook ${nameOf('load', loading, plugin)} may serve modules that are made of what it keeps of others`
}

function nameOf(hook: string, member: HookedPlugin, plugin: HookedPlugin): string {
  return member.name === plugin.name ? `'${hook}'` : `'${hook}' of plugin '${member.name}'`
}

/** Whether two plugins are of one package, by their names: `pair:scan` and `pair:emit`, `vite:css` and `vite:css-post`. */
function isOfPackage(one: string, other: string): boolean {
  return packageOf(one) === packageOf(other) || continues(one, other) || continues(other, one)
}

function continues(name: string, start: string): boolean {
  return name.startsWith(start) && /^[-:/_]/.test(name.slice(start.length))
}

/** Names of plugins with several parts have a colon. `vite:` is the prefix of many packages. */
function packageOf(name: string): string {
  return /^(?:vite:)?[^:]*/.exec(name)?.[0] ?? name
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
