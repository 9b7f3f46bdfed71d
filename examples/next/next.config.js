import { VarveWebpackPlugin } from '@varve/plugins/webpack'

const isCached = !process.env.WITHOUT_VARVE

export default {
  generateBuildId: () => 'example', // instead of a random one, so that builds can be compared
  webpack(config) {
    config.cache = isCached ? { type: 'memory' } : false // webpack's memory cache stays in front
    if (isCached) config.plugins.push(new VarveWebpackPlugin())
    return config
  },
}
