// The config of the example, with the cache that BENCH_CACHE names.
// It loads Varve only if it uses it, so that builds with other caches do not pay for it.
import { resolve } from 'node:path'

const CACHES = {
  none: () => false,
  memory: () => ({ type: 'memory' }),
  // Next.js uses webpack's filesystem cache, but in the directory of its output, which the bench removes.
  webpack: (cache) => ({ ...cache, cacheDirectory: resolve('node_modules/.cache/webpack') }),
  varve: () => ({ type: 'memory' }),
}

export default async function configOf() {
  const name = process.env.BENCH_CACHE
  const Plugin = name === 'varve' ? (await import('@varve/plugins/webpack')).VarveWebpackPlugin : undefined
  return {
    generateBuildId: () => 'example',
    webpack(config) {
      config.cache = CACHES[name](config.cache)
      if (Plugin !== undefined) config.plugins.push(new Plugin())
      return config
    },
  }
}
