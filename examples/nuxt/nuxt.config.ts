// Varve in both builds of Nuxt: as a plugin of Vite, and as storage of Nitro.
import { varve } from '@varve/plugins/vite'

const isCached = !process.env.WITHOUT_VARVE

export default defineNuxtConfig({
  compatibilityDate: '2026-01-01',
  telemetry: false,
  experimental: { appManifest: false }, // its path has a random id, and would be another alias of Vite in each build
  vite: { plugins: isCached ? [varve({ plugins: ['vue'], cacheKey: 'nuxt', files: ['nuxt.config.ts'], trackReads: false })] : [] },
  nitro: { storage: { cache: { driver: '@varve/plugins/unstorage', dir: '.cache/nitro' } } },
})
