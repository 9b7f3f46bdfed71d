/** One build of the project in the working directory: `node build.mjs webpack|vite <choices>`. Prints what the tool logs. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [tool, json = '{}'] = process.argv.slice(2)
const folder = process.cwd()
const { version, stamp = '1' } = JSON.parse(json)

/** A plugin of Vite whose work is that of the loader. */
const page = {
  name: 'page',
  transform(code, id) {
    if (!/src[\\/]page\.js$/.test(id)) return null
    void process.env['TEST_MODE']
    void process.env['TEST_TOKEN']
    const rc = join(folder, '.pagerc')
    if (existsSync(rc)) readFileSync(rc)
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
    plugins: [page, varve({ version, report: true, dir: 'cache', plugins: [{ name: 'page', cacheKey: { level: version ?? 'low' } }] })],
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
    plugins: [new VarveWebpackPlugin({ version, report: true, dir: 'cache' }), new webpack.DefinePlugin({ __STAMP__: JSON.stringify(stamp) })],
  })
  await new Promise((resolve, reject) => compiler.run((error) => (error ? reject(error) : resolve())))
  await new Promise((resolve, reject) => compiler.close((error) => (error ? reject(error) : resolve())))
}

await (tool === 'vite' ? byVite() : byWebpack())
