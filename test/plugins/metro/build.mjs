// @ts-check
// A bundle of a test with the real Metro, in a separate process; prints the result as JSON.
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { VarveMetroStore } from '@varve/plugins/metro'
import Metro from 'metro'

const { folder, options, dev = true } = JSON.parse(process.argv[2] ?? '')
const store = options === null ? undefined : new VarveMetroStore({ dir: join(folder, 'cache'), ...options })
const here = createRequire(import.meta.url)
const config = await Metro.loadConfig(
  { cwd: folder, config: join(folder, 'metro.config.cjs') },
  {
    projectRoot: folder,
    cacheStores: store === undefined ? [] : [store],
    maxWorkers: 1,
    reporter: { update: () => undefined },
    resolver: { useWatchman: false },
    transformer: {
      asyncRequireModulePath: here.resolve('metro-runtime/src/modules/asyncRequire'),
      babelTransformerPath: here.resolve('metro-babel-transformer'),
      enableBabelRuntime: false,
    },
    watchFolders: [join(here.resolve('metro-runtime/package.json'), '..')],
  },
)
const { code } = await Metro.runBuild(config, { entry: 'main.js', dev, minify: false })
const digest = createHash('sha256').update(code).digest('hex')
const { hits, misses } = store?.stats ?? { hits: 0, misses: 0 }
await store?.close()
process.stdout.write(`\n${JSON.stringify({ digest, bytes: code.length, hits, misses })}`)
