/** Vite as `PluginCache` uses it, and the parts of its resolved config that decide the results of plugins. */
import { noteOutput } from 'varve/internal'
import type { ResolvedConfig } from 'vite'
import type { InputParts } from '../build/call.ts'
import { lenientDigest, type Parts, valueParts } from '../build/digest.ts'
import { fileParts, filesDigest } from '../build/identity.ts'
import type { Root } from '../build/root.ts'
import type { Tool } from '../rollup/cached.ts'
import type { HookedPlugin } from '../rollup/hooks.ts'
import { versionsOf } from '../rollup/tool.ts'

/** Vite, whose config is known once `configResolved` has run. */
export class ViteTool implements Tool {
  readonly name: string = 'vite'
  readonly #digests: WeakMap<object, string> = new WeakMap()
  readonly #configs: WeakSet<object> = new WeakSet()
  #config: ResolvedConfig | undefined

  /** Takes the argument of `configResolved`. */
  takeConfig(config: unknown): void {
    if (!isConfig(config)) return
    this.#config = config
    this.#configs.add(config)
    noteOutput(config.build.outDir, config.root)
  }

  /** Whether an environment belongs to a config with this plugin. */
  hasEnvironment(environment: object): boolean {
    const getConfig: unknown = Reflect.get(environment, 'getTopLevelConfig')
    const config: unknown = typeof getConfig === 'function' ? Reflect.apply(getConfig, environment, []) : undefined
    return isConfig(config) && this.#configs.has(config)
  }

  isOn(): boolean {
    return this.#config !== undefined
  }

  /** Prints a line with one prefix. Returns false before the config is known. */
  log(level: 'warn' | 'info', text: string): boolean {
    this.#config?.logger[level](`[plugin varve] ${text}`)
    return this.#config !== undefined
  }

  /** Whether the log leaves out the level 'info', as in the builds of Astro. */
  isInfoHidden(): boolean {
    const level = this.#config?.logLevel
    return level !== undefined && level !== 'info'
  }

  isServer(): boolean {
    return this.#config?.command === 'serve'
  }

  root(): string {
    return this.#config?.root ?? process.cwd()
  }

  /** The text of the config file and of all its imports, which contains the options of the plugins. */
  key(root: Root): string | undefined {
    const { configFile, configFileDependencies = [] } = this.#config ?? {}
    return configFile === undefined ? undefined : filesDigest([configFile, ...configFileDependencies], root)
  }

  modules(): readonly string[] {
    const { configFile, configFileDependencies = [] } = this.#config ?? {}
    return configFile === undefined ? [] : [configFile, ...configFileDependencies]
  }

  plugins(): readonly HookedPlugin[] {
    return this.#config?.plugins ?? []
  }

  inputs(context: object, root: Root): Readonly<Record<string, string>> {
    const [name, config] = this.#configOf(context)
    return {
      tool: versionsOf(context),
      environment: name,
      config: config === undefined ? '' : this.#digestOf(config, root),
    }
  }

  parts(context: object, input: string, root: Root): ReturnType<InputParts> {
    const [name, config] = this.#configOf(context)
    if (input !== 'config' || config === undefined) return undefined
    return { key: `config ${name}`, parts: () => valueParts(deciding(config), (text) => root.toRelative(text)) }
  }

  /** The parts of what `key` returns. */
  keyParts(root: Root): Parts {
    return fileParts(this.modules(), root)
  }

  #configOf(context: object): readonly [name: string, config: object | undefined] {
    return environmentOf(Reflect.get(context, 'environment')) ?? ['', this.#config]
  }

  #digestOf(config: object, root: Root): string {
    const known = this.#digests.get(config)
    if (known !== undefined) return known
    const made = lenientDigest(deciding(config), (text) => root.toRelative(text))
    this.#digests.set(config, made)
    return made
  }
}

/** Sections of the config that plugins read. The text of the config file covers the functions in them. */
const SECTIONS = [
  'command',
  'mode',
  'isProduction',
  'isWorker',
  'base',
  'consumer',
  'define',
  'env',
  'resolve',
  'css',
  'json',
  'oxc',
  'esbuild',
  'html',
]
const BUILD_SECTIONS = [
  'target',
  'cssTarget',
  'sourcemap',
  'minify',
  'cssMinify',
  'cssCodeSplit',
  'assetsInlineLimit',
  'ssr',
  'lib',
  'assetsDir',
]

function isConfig(config: unknown): config is ResolvedConfig {
  return typeof config === 'object' && config !== null && 'root' in config && 'command' in config
}

/** The config by section; functions in it count as their kind. */
function deciding(config: object): Readonly<Record<string, unknown>> {
  const build: unknown = Reflect.get(config, 'build')
  const server: unknown = Reflect.get(config, 'server')
  const hasHotUpdates =
    Reflect.get(config, 'command') === 'serve' && isObject(server) && Reflect.get(server, 'hmr') !== false
  const origin: unknown = isObject(server) ? Reflect.get(server, 'origin') : undefined
  return {
    ...pick(config, SECTIONS),
    build: isObject(build) ? pick(build, BUILD_SECTIONS) : null,
    origin,
    hasHotUpdates,
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function pick(from: object, names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name): [string, unknown] => [name, Reflect.get(from, name)]))
}

function environmentOf(environment: unknown): [name: string, config: object] | undefined {
  if (typeof environment !== 'object' || environment === null || !('name' in environment) || !('config' in environment))
    return undefined
  const { name, config } = environment
  return typeof name === 'string' && typeof config === 'object' && config !== null ? [name, config] : undefined
}
