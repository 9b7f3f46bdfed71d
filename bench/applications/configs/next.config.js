// The config of the example, with the cache that BENCH_CACHE names.
import { resolve } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'

const CACHES = {
  none: () => false,
  memory: () => ({ type: 'memory' }),
  // Next.js uses webpack's filesystem cache, but in the directory of its output, which the bench removes.
  webpack: (cache) => ({ ...cache, cacheDirectory: resolve('node_modules/.cache/webpack') }),
  varve: () => ({ type: 'memory' }),
}

export default {
  generateBuildId: () => 'example',
  webpack(config) {
    config.cache = CACHES[process.env.BENCH_CACHE](config.cache)
    if (process.env.BENCH_CACHE === 'varve') config.plugins.push(new VarveWebpackPlugin())
    return config
  },
}
