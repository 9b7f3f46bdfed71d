// The config of the example, with the cache that BENCH_CACHE names.
import { VarveWebpackPlugin } from '@varve/plugins/webpack'

const CACHES = {
  none: () => ({ mergeStrategy: { cache: 'replace' }, cache: false }),
  memory: () => ({ mergeStrategy: { cache: 'replace' }, cache: { type: 'memory' } }),
  webpack: () => ({}), // Docusaurus uses webpack's filesystem cache
  varve: () => ({ mergeStrategy: { cache: 'replace' }, cache: { type: 'memory' }, plugins: [new VarveWebpackPlugin()] }),
}

export default {
  title: 'Docusaurus with Varve',
  url: 'https://example.com',
  baseUrl: '/',
  onBrokenLinks: 'throw',
  plugins: [() => ({ name: 'bench', configureWebpack: CACHES[process.env.BENCH_CACHE] })],
  presets: [['classic', { docs: { routeBasePath: '/' }, blog: false, pages: false }]],
}
