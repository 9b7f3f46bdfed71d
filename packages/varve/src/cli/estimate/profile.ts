/**
 * Finds in a CPU profile the work of a bundler whose results Varve could cache. Time belongs to the outermost plugin, loader or compiler on
 * the stack, or to the outermost file of the project; without one, to the outermost package that is not the bundler itself:
 *
 *   rollup > @vitejs/plugin-vue > vue/compiler-sfc        @vitejs/plugin-vue
 *   (after an `await`) gensync > @babel/core              @babel/core
 *   rollup > @company/shout > marked                      @company/shout, if neither is known
 *   rollup > plugins/markdown.mjs > marked                plugins/markdown.mjs
 *   webpack > enhanced-resolve                            webpack, which Varve caches as a whole: modules, resolving, minimizing
 *   vite > postcss                                        nothing: Vite's own work is not cached
 *   vite > @sveltejs/vite-plugin-svelte                   nothing: the plugin keeps state, so it is not cached
 *   node:internal/modules > aria-query                    nothing: it is being loaded
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What a profile has of a bundler. */
export interface Bundling {
  readonly tool: string
  /** Milliseconds in which the main thread was busy. */
  readonly busyMs: number
  /** Milliseconds in work that could be cached, by package or file. */
  readonly parts: ReadonlyMap<string, number>
}

/** Packages of bundlers, and of what they bring: their own work. Plugins of Vite use PostCSS and Sass through Vite. */
const BUNDLERS: ReadonlyMap<string, string> = new Map([
  ['webpack', 'webpack'],
  ['vite', 'Vite'],
  ['rollup', 'Rollup'],
  ['rolldown', 'Rolldown'],
  ['esbuild', 'esbuild'],
  ['@rspack/core', 'Rspack'],
])

/** Which of several bundlers in one process is the one that the user runs. */
const ORDER = ['Vite', 'webpack', 'Rspack', 'Rolldown', 'Rollup', 'esbuild']

const OWN =
  /^(?:webpack(?:-.*)?|tapable|vite|rollup|rolldown|esbuild|@(?:rspack|rolldown|rollup|esbuild|webassemblyjs)\/.*|postcss(?:-.*)?|sass(?:-.*)?|less|lightningcss|picomatch|magic-string|cac|commander|jiti|tinyglobby|chokidar|graceful-fs|watchpack|browserslist|varve|@varve\/.*)$/

/** Packages that users know, by their names: plugins and loaders, and compilers. One of these below a helper has its time. */
const KNOWN: readonly RegExp[] = [
  /(?:^|[/-])(?:plugin|loader)(?:-|$)/,
  /^(?:@[^/]+\/)?(?:vite|rollup|rolldown|esbuild|unplugin)-/,
  /^@(?:angular|astrojs|docusaurus|graphql-codegen|linaria|lingui|mdx-js|stylexjs|svgr|swc|vanilla-extract|vue|wyw-in-js)\//,
  /^(?:@babel\/core|astro|handlebars|markdown-it|marked|pug|remark|shiki|sucrase|svelte|svgo|terser|typescript|unified|vue)$/,
]

/** Plugins that Varve does not cache, and their compilers: what they make of one module depends on others. webpack's loaders are other packages. */
const STATEFUL =
  /^(?:@sveltejs\/.*|svelte|@tailwindcss\/.*|tailwindcss|@rollup\/plugin-typescript|rollup-plugin-(?:typescript2|dts)|typescript)$/

/** Node.js while it loads a module. */
const LOADER = /^node:internal\/modules\//

/** Vite's copy of a config, which has plugins of the project. */
const CONFIG = /\/node_modules\/\.vite-temp\/(.+?)\.timestamp-/

/** Of webpack, files and packages whose work is stored with a module or an asset. */
const WEBPACK_CACHED =
  /\/webpack\/lib\/(?:NormalModule|javascript\/JavascriptParser|util\/createHash|optimize\/ConcatenatedModule)\.js$|\/(?:enhanced-resolve|loader-runner|acorn)\//

const IDLE = /^\((?:idle|program|garbage collector)\)$/

/** One function on a stack, as V8 writes it. */
interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The work of a bundler in a profile; undefined without a bundler. Names of files are relative to `folder`. */
export function bundlingIn(text: string, folder: string): Bundling | undefined {
  const profile = profileIn(text)
  if (profile === undefined) return undefined
  const tools = new Set(profile.nodes.flatMap(({ callFrame }) => BUNDLERS.get(packageOf(callFrame.url) ?? '') ?? []))
  const tool = ORDER.find((name) => tools.has(name))
  if (tool === undefined) return undefined
  const owners = ownersIn(profile, tool, folder)
  const isIdle = new Set(profile.nodes.filter(({ callFrame }) => IDLE.test(callFrame.functionName)).map(({ id }) => id))
  const parts = new Map<string, number>()
  let busyMs = 0
  for (const [index, id] of profile.samples.entries()) {
    const ms = Math.max(0, profile.timeDeltas[index] ?? 0) / 1000
    if (!isIdle.has(id)) busyMs += ms
    const owner = owners.get(id)
    if (owner !== undefined) parts.set(owner, (parts.get(owner) ?? 0) + ms)
  }
  return { tool, busyMs, parts }
}

/** Whom the time of a function belongs to. */
interface Owner {
  /** Undefined for work that is not cached. */
  readonly name: string | undefined
  /** Whether it is what a user knows. Otherwise that may be further below. */
  readonly isKnown: boolean
}

/** The package or file that each function works for, by node; none for what could not be cached. */
function ownersIn({ nodes }: Profile, tool: string, folder: string): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const owners = new Map<number, string>()
  const [root] = nodes
  const start = { above: undefined as Owner | undefined, isInBundler: false, isLoading: false, isLoader: false }
  const waiting = root === undefined ? [] : [{ node: root, ...start }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { url } = next.node.callFrame
    const name = packageOf(url)
    const isOwn = name !== undefined && OWN.test(name)
    const isInBundler = next.isInBundler || isOwn
    const isLoading = next.isLoading || (next.isLoader && name !== undefined && !isOwn)
    const found = ownerOf(url, name, { tool, folder, isInBundler: next.isInBundler })
    const isOutermost = next.above === undefined || (!next.above.isKnown && found?.isKnown === true)
    const owner = isOutermost ? found : next.above
    if (owner?.name !== undefined && !isLoading) owners.set(next.node.id, owner.name)
    for (const id of next.node.children ?? []) {
      const node = byId.get(id)
      if (node !== undefined) waiting.push({ node, above: owner, isInBundler, isLoading, isLoader: LOADER.test(url) })
    }
  }
  return owners
}

interface Surroundings {
  readonly tool: string
  readonly folder: string
  /** Whether a bundler has called the function. A script that calls the bundler is no plugin. */
  readonly isInBundler: boolean
}

function ownerOf(
  url: string,
  name: string | undefined,
  { tool, folder, isInBundler }: Surroundings,
): Owner | undefined {
  if (tool === 'webpack' && WEBPACK_CACHED.test(url)) return { name: 'webpack', isKnown: true }
  const [, config] = CONFIG.exec(url) ?? []
  if (config !== undefined) return isInBundler ? { name: config, isKnown: true } : undefined
  if (name !== undefined) {
    if (tool !== 'webpack' && STATEFUL.test(name)) return { name: undefined, isKnown: true }
    return OWN.test(name) ? undefined : { name, isKnown: KNOWN.some((pattern) => pattern.test(name)) }
  }
  if (!isInBundler || !url.startsWith('file:')) return undefined
  return { name: relative(folder, fileURLToPath(url)).replaceAll('\\', '/'), isKnown: true }
}

/** The installed package that a script belongs to. */
function packageOf(url: string): string | undefined {
  const at = url.lastIndexOf('/node_modules/')
  if (at < 0) return undefined
  return /^(?:@[^/]+\/)?[^/]+/.exec(url.slice(at + '/node_modules/'.length))?.[0]
}

function profileIn(text: string): Profile | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isProfile(value) ? value : undefined
  } catch {
    return undefined // a process that was killed, or the module that made the profiles
  }
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== 'object' || value === null) return false
  return ['nodes', 'samples', 'timeDeltas'].every((name) => Array.isArray(Reflect.get(value, name)))
}
