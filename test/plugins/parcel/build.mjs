// @ts-check
// One build by Parcel with its workers, which open the cache again. Started with `--require` of `cache.cjs`. Hits are assets that no
// transformer of Parcel made in this build.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { VarveParcelCache } from '@varve/plugins/parcel'
import { cacheOptions, folder, order, report } from '../order.mjs'

const require = createRequire(join(folder, 'package.json'))
const { Parcel } = require('@parcel/core')
const cacheDir = '.parcel-cache'
const made = join(folder, '.runs-cache')

await report(async () => {
  const cached = { cacheDir, cache: new VarveParcelCache({ dir: `${cacheDir}/varve` }) }
  rmSync(made, { force: true })
  rmSync(order.output, { recursive: true, force: true })
  const bundler = new Parcel({
    entries: order.entry,
    defaultConfig: require.resolve('@parcel/config-default'),
    additionalReporters: [
      { packageName: './programs/parcel/reporter.cjs', resolveFrom: join(folder, '../package.json') },
    ],
    mode: 'production',
    env: { NODE_ENV: 'production' },
    defaultTargetOptions: { distDir: order.output, sourceMaps: false, shouldOptimize: false },
    shouldDisableCache: !order.isCached,
    ...(order.isCached ? cached : {}),
  })
  const { bundleGraph } = await bundler.run()
  const assets = new Set()
  for (const bundle of bundleGraph.getBundles())
    bundle.traverseAssets((/** @type {{ id: string }} */ { id }) => void assets.add(id))
  const misses = existsSync(made) ? readFileSync(made, 'utf8').trim().split('\n').length : 0
  cacheOptions.onStats({ name: 'parcel', hits: Math.max(assets.size - misses, 0), misses, uncacheable: {} })
})
