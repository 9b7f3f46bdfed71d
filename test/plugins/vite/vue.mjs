// @ts-check
// One build by Vite with the real plugin of Vue, wrapped by its name; the config file stands for its options.
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import vue from '@vitejs/plugin-vue'
import { varve } from '@varve/plugins/vite'
import { build } from 'vite'
import { cacheOptions, folder, order, report } from '../order.mjs'

const { names = ['vue'], ...config } = order.config
const options = { ...cacheOptions, cacheKey: undefined, ...(names === 'unnamed' ? {} : { plugins: names }) }

// Vue's compiler reads imported types with the file system of TypeScript 5, which later ones do not have.
const script = {
  fs: {
    fileExists: existsSync,
    readFile: (/** @type {string} */ path) => readFileSync(path, 'utf8'),
    realpath: realpathSync,
  },
}

await report(async () =>
  build({
    root: folder,
    logLevel: 'error',
    plugins: [vue({ script }), ...(order.isCached ? [varve(options)] : [])],
    build: { outDir: order.output, rollupOptions: { input: order.entry, external: ['vue'] } },
    ...config,
  }),
)
