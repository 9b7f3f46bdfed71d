/** Users' configurations, compiled against the packed packages. */
import type { Configuration as RspackConfiguration } from '@rspack/core'
import { cached as cachedInEsbuild } from '@varve/plugins/esbuild'
import { cached as cachedInRolldown } from '@varve/plugins/rolldown'
import { cached as cachedInRollup, type CachedStats } from '@varve/plugins/rollup'
import { VarveRspackPlugin } from '@varve/plugins/rspack'
import { cached as cachedInVite, varve } from '@varve/plugins/vite'
import * as plugins from '@varve/plugins/webpack'
import type { BuildOptions } from 'esbuild'
import type { InputOptions as RolldownOptions } from 'rolldown'
import type { RollupOptions } from 'rollup'
import type { UserConfig } from 'vite'
import type { Configuration, WebpackPluginInstance } from 'webpack'

const [Plugin] = Object.values(plugins) as (new () => WebpackPluginInstance)[]
export const configuration: Configuration = { plugins: Plugin === undefined ? [] : [new Plugin()] }

const onStats = ({ hits, misses }: CachedStats): number => hits / (hits + misses)
export const vite: UserConfig = {
  plugins: [cachedInVite({ name: 'own' }), varve({ plugins: ['vue', { name: 'babel', cacheKey: {} }], onStats })],
}
export const rollup: RollupOptions = { plugins: [cachedInRollup({ name: 'own' }, { cacheKey: {}, onStats })] }
export const rolldown: RolldownOptions = { plugins: [cachedInRolldown({ name: 'own' }, { cacheKey: {} })] }
export const esbuild: BuildOptions = {
  plugins: [cachedInEsbuild({ name: 'own', setup: () => undefined }, { cacheKey: {} })],
}
export const rspack: RspackConfiguration = { plugins: [new VarveRspackPlugin({ onStats })] }
