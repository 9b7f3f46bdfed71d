/** One build of the project in the working directory: `node build.mjs <tool> <choices>`. Prints what the tool logs. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [tool, json = '{}'] = process.argv.slice(2)
const folder = process.cwd()
const { version, stamp = '1' } = JSON.parse(json)

/** What the loader does, too. */
function work() {
  void process.env['TEST_MODE']
  void process.env['TEST_TOKEN']
  const rc = join(folder, '.pagerc')
  if (existsSync(rc)) readFileSync(rc)
}

/** A plugin of Vite, Rollup and Rolldown whose work is that of the loader. */
const page = {
  name: 'page',
  transform(code, id) {
    if (!/src[\\/]page\.js$/.test(id)) return null
    work()
    this.addWatchFile(join(folder, 'src/theme.css'))
    return { code, map: null }
  },
}

async function byVite() {
  const { varve } = await import('@varve/plugins/vite')
  const { build, createLogger } = await import('vite')
  await build({
    root: folder,
    configFile: false,
    customLogger: createLogger('info'),
    define: { __STAMP__: JSON.stringify(stamp) },
    plugins: [
      page,
      varve({
        version,
        report: true,
        dir: 'cache',
        plugins: [{ name: 'page', cacheKey: { level: version ?? 'low' } }],
      }),
    ],
    build: { outDir: 'dist', minify: false },
  })
}

async function byWebpack() {
  const { VarveWebpackPlugin } = await import('@varve/plugins/webpack')
  const { default: webpack } = await import('webpack')
  const compiler = webpack({
    mode: 'development',
    context: folder,
    entry: './src/main.js',
    output: { path: join(folder, 'dist') },
    cache: { type: 'memory' },
    module: { rules: [{ test: /page\.js$/, use: 'page-loader' }] },
    infrastructureLogging: { level: 'info', stream: process.stdout },
    plugins: [
      new VarveWebpackPlugin({ version, report: true, dir: 'cache' }),
      new webpack.DefinePlugin({ __STAMP__: JSON.stringify(stamp) }),
    ],
  })
  await new Promise((resolve, reject) => compiler.run((error) => (error ? reject(error) : resolve())))
  await new Promise((resolve, reject) => compiler.close((error) => (error ? reject(error) : resolve())))
}

/** Options of `cached` for tools without a config that Varve sees. */
const options = { report: true, root: folder, dir: 'cache', cacheKey: { level: version ?? 'low', stamp } }
const input = join(folder, 'src/main.js')

async function byRollup() {
  const { cached } = await import('@varve/plugins/rollup')
  const { rollup } = await import('rollup')
  const bundle = await rollup({
    input,
    plugins: [cached(page, options)],
    onLog: (_, { message }) => console.log(message),
  })
  await bundle.close()
}

async function byRolldown() {
  const { cached } = await import('@varve/plugins/rolldown')
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input,
    plugins: [cached(page, options)],
    onLog: (_, { message }) => console.log(message),
  })
  await bundle.generate()
  await bundle.close()
}

async function byEsbuild() {
  const { cached } = await import('@varve/plugins/esbuild')
  const { build } = await import('esbuild')
  const plugin = {
    name: 'page',
    setup({ onLoad }) {
      onLoad({ filter: /page\.js$/ }, ({ path }) => {
        work()
        return { contents: readFileSync(path, 'utf8'), watchFiles: [join(folder, 'src/theme.css')] }
      })
    },
  }
  await build({
    entryPoints: [input],
    bundle: true,
    write: false,
    absWorkingDir: folder,
    plugins: [cached(plugin, options)],
  })
}

async function byRspack() {
  const { VarveRspackPlugin } = await import('@varve/plugins/rspack')
  const { rspack } = await import('@rspack/core')
  const loaders = [
    fileURLToPath(import.meta.resolve('@varve/plugins/loader')),
    { loader: 'page-loader', options: { stamp } },
  ]
  const compiler = rspack({
    mode: 'development',
    context: folder,
    entry: './src/main.js',
    output: { path: join(folder, 'dist') },
    cache: false,
    module: { rules: [{ test: /page\.js$/, use: loaders }] },
    infrastructureLogging: { level: 'info', stream: process.stdout },
    plugins: [new VarveRspackPlugin({ version, report: true, dir: 'cache' })],
  })
  await new Promise((resolve, reject) => compiler.run((error) => (error ? reject(error) : resolve())))
  await new Promise((resolve, reject) => compiler.close((error) => (error ? reject(error) : resolve())))
}

const builds = {
  webpack: byWebpack,
  vite: byVite,
  rollup: byRollup,
  rolldown: byRolldown,
  esbuild: byEsbuild,
  rspack: byRspack,
}
await builds[tool]()
