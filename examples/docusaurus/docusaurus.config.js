import { VarveWebpackPlugin } from '@varve/plugins/webpack'

const isCached = !process.env.WITHOUT_VARVE

/** A plugin of Docusaurus that replaces webpack's filesystem cache. */
const varve = () => ({
  name: 'varve',
  configureWebpack: () => ({
    mergeStrategy: { cache: 'replace' },
    cache: isCached ? { type: 'memory' } : false, // webpack's memory cache stays in front
    plugins: isCached ? [new VarveWebpackPlugin()] : [],
  }),
})

export default {
  title: 'Docusaurus with Varve',
  url: 'https://example.com',
  baseUrl: '/',
  onBrokenLinks: 'throw',
  plugins: [varve],
  presets: [['classic', { docs: { routeBasePath: '/' }, blog: false, pages: false }]],
}
