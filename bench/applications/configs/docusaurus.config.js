// The config of the example, with the cache that BENCH_CACHE names.
// It loads Varve only if it uses it, so that builds with other caches do not pay for it.

const CACHES = {
  none: () => ({ mergeStrategy: { cache: 'replace' }, cache: false }),
  memory: () => ({ mergeStrategy: { cache: 'replace' }, cache: { type: 'memory' } }),
  webpack: () => ({}), // Docusaurus uses webpack's filesystem cache
  varve: (Plugin) => ({ mergeStrategy: { cache: 'replace' }, cache: { type: 'memory' }, plugins: [new Plugin()] }),
}

export default async function config() {
  const name = process.env.BENCH_CACHE
  const Plugin = name === 'varve' ? (await import('@varve/plugins/webpack')).VarveWebpackPlugin : undefined
  return {
    title: 'Docusaurus with Varve',
    url: 'https://example.com',
    baseUrl: '/',
    onBrokenLinks: 'throw',
    plugins: [() => ({ name: 'bench', configureWebpack: () => CACHES[name](Plugin) })],
    presets: [['classic', { docs: { routeBasePath: '/' }, blog: false, pages: false }]],
  }
}
