// @ts-check
// One build by Vite with the real plugin of Vue, wrapped by its name; the config file stands for its options.
import vue from '@vitejs/plugin-vue'
import { varve } from '@varve/plugins/vite'
import { build } from 'vite'
import { cacheOptions, folder, order, report } from '../order.mjs'

const { names = ['vue'], ...config } = order.config
const { key, ...options } = cacheOptions

await report(async () =>
  build({
    root: folder,
    logLevel: 'error',
    plugins: [vue(), ...(order.isCached ? [varve({ ...options, plugins: names })] : [])],
    build: { outDir: order.output, rollupOptions: { input: order.entry, external: ['vue'] } },
    ...config,
  }),
)
