// @ts-check
// A program that imports the packed packages.
import { useCache } from './use.cjs'

await import('@varve/plugins/webpack')
await useCache(await import('varve'))
console.log('ok')
