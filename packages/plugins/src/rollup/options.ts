/** Options of `cached(plugin, options)`. */
import { digest } from '../build/digest.ts'
import { type CachedOptions, FIELDS, type StatelessOption } from '../build/options.ts'
import { BOOLEAN, checkOptions, type Fields } from '../build/validate.ts'
import { type CachedHook, HOOKS_CACHED } from './hooks.ts'

/** Options of `cached` for the plugins of Rollup, Rolldown and Vite. */
export interface CachedPluginOptions extends CachedOptions, StatelessOption {
  /**
   * Hooks whose results are cached. Results of `resolveId` usually depend on which files exist, which plugins do not report.
   * Include it only for a plugin that resolves by name alone.
   * @defaultValue `['load', 'transform']`
   */
  readonly hooks?: readonly CachedHook[] | undefined
}

/** Hooks that are cached by default. */
export const HOOKS_DEFAULT: readonly CachedHook[] = ['load', 'transform']
const HOOKS: readonly unknown[] = HOOKS_CACHED

/** The checks of these options. */
const PLUGIN_FIELDS: Fields<CachedPluginOptions> = {
  ...FIELDS,
  stateless: BOOLEAN,
  hooks: [
    "an array of 'resolveId', 'load' and 'transform'",
    (value) => Array.isArray(value) && value.every((hook) => HOOKS.includes(hook)),
  ],
}

/** Throws INVALID_OPTION if an option is unknown or of the wrong kind, or if the `cacheKey` cannot be compared. */
export function checkPluginOptions(options: CachedPluginOptions): void {
  checkOptions('cached()', options, PLUGIN_FIELDS)
  digest(options.cacheKey, 'cacheKey')
}
