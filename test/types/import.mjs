// @ts-check
// A program that imports the packed packages.
import { useCache } from './use.cjs'

for (const name of ['jest', 'keyv', 'metro', 'parcel', 'unstorage', 'webpack']) await import(`@varve/plugins/${name}`)
await import('@varve/remote')
await import('@varve/view')
await useCache(await import('varve'))
console.log('ok')
