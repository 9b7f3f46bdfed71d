/**
 * The files that decide how a compiler is configured. They are recorded, not guessed from a list of names:
 *
 * - the configs that webpack-cli loaded, including those that they extend, as it passes them to webpack's own cache
 * - the files that called `new VarveWebpackPlugin()` and `webpack()`, and the main script of the process
 * - every module of the project that `require` has loaded so far. The `children` of a module would be incomplete: they lack
 *   what another module required first
 *
 * webpack follows the imports of each file.
 */
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Compiler } from 'webpack'
import { isInstalled, loaded } from '../build/modules.ts'
import { disk } from '../host/files.ts'

/** Limit of the calls of a stack that are inspected. */
const CALLS_MAX = 200

/** Files of the project on the current stack, from the caller of `callee` up. */
export function callersOf(callee: unknown): string[] {
  return filesOnStack(callee).filter(isOfProject)
}

/** The same, and the direct caller of `callee` even if it is in a package: that package supplies the config. */
export function makersOf(callee: unknown): string[] {
  return filesOnStack(callee).filter((path, index) => index === 0 || isOfProject(path))
}

function filesOnStack(callee: unknown): string[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = CALLS_MAX
    Error.prepareStackTrace = (_, calls) => calls.map((call) => call.getFileName() ?? '')
    Error.captureStackTrace(holder, typeof callee === 'function' ? (callee as () => void) : undefined)
    const names = Array.isArray(holder.stack) ? holder.stack.filter((name) => typeof name === 'string') : []
    return [...new Set(names.map(pathOf))].filter((path) => isAbsolute(path) && disk.existsSync(path))
  } finally {
    Error.prepareStackTrace = prepareStackTrace
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** The main script, and the modules that `require` has loaded so far, without packages. */
export function loadedFiles(): string[] {
  const [, main = ''] = process.argv
  return [main, ...Object.keys(loaded)].filter((path) => isAbsolute(path) && isOfProject(path) && disk.existsSync(path))
}

/** The configs from which webpack-cli made this compiler. It passes them to its own plugin. */
export function cliConfigs(compiler: Compiler): string[] {
  const found: string[] = []
  for (const plugin of compiler.options.plugins) {
    const isCli = typeof plugin === 'object' && plugin !== null && plugin.constructor.name === 'CLIPlugin'
    const options: unknown = isCli ? Reflect.get(plugin, 'options') : undefined
    const paths: unknown =
      typeof options === 'object' && options !== null ? Reflect.get(options, 'configPath') : undefined
    for (const path of [paths].flat()) if (typeof path === 'string') found.push(resolve(pathOf(path)))
  }
  return [...new Set(found)]
}

function pathOf(name: string): string {
  return name.startsWith('file:') ? fileURLToPath(name.replace(/[?#].*$/, '')) : name
}

function isOfProject(path: string): boolean {
  return !isInstalled(path)
}
