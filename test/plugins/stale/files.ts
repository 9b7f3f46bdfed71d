/** Files of the projects: a config for each tool, around the text of a plugin. */

/** A plugin that puts a word in the place of WORD. */
export const PLUG = `export const plug = ({ word = 'none' } = {}) => ({
  name: 'plug',
  transform(code, id) { return /src.*\\.js$/.test(id) ? { code: code.replace('WORD', word), map: null } : undefined },
})
`

const SOURCES = {
  'package.json': '{ "name": "app", "version": "1.0.0", "type": "module" }',
  'src/main.js': 'import "./a.js"; console.log("WORD")',
  'src/a.js': 'console.log("a WORD", (x) => x?.y)',
}

/** A project of Vite with this plugin in its config. */
export function viteFiles(plugin: string, imports = '', name = 'plug'): Record<string, string> {
  const config = `import { varve } from '@varve/plugins/vite'
${imports}
const cache = () => varve({ plugins: ${JSON.stringify(name.split(','))}, onStats: (one) => globalThis.stats.push(one) })
export default ({ mode }) => ({
  plugins: [${plugin}, process.env.STALE_CACHED ? cache() : null],
  build: { minify: false, rollupOptions: { input: 'src/main.js', external: ['vue'] } },
})
`
  return { ...SOURCES, 'vite.config.mjs': config }
}

/** A project of Rollup, Rolldown or esbuild with this plugin. */
export function wrappedFiles(
  tool: 'rollup' | 'rolldown' | 'esbuild',
  plugin: string,
  imports = '',
): Record<string, string> {
  const input =
    tool === 'esbuild' ? `entryPoints: ['src/main.js'], bundle: true, outdir: 'dist'` : `input: 'src/main.js'`
  const config = `import { cached } from '@varve/plugins/${tool}'
${imports}
const plugin = () => (${plugin})
export default (isCached) => ({
  ${input},
  plugins: [isCached ? cached(plugin(), { cacheKey: 'same', onStats: (one) => globalThis.stats.push(one) }) : plugin()],
})
`
  return { ...SOURCES, 'build.config.mjs': config }
}

/** A project of Rspack with this loader. */
export function rspackFiles(loader: string): Record<string, string> {
  const config = `import { VarveRspackPlugin } from '@varve/plugins/rspack'
export default (isCached) => ({
  mode: 'production', context: process.cwd(), entry: './src/main.js', output: { path: process.cwd() + '/dist' },
  module: { rules: [{ test: /src.*\\.js$/, use: [...(isCached ? ['@varve/plugins/loader'] : []), ${loader}] }] },
  plugins: isCached ? [new VarveRspackPlugin({ onStats: (one) => globalThis.stats.push(one) })] : [],
})
`
  return { ...SOURCES, 'build.config.mjs': config }
}

/** A Babel plugin that puts a word in the place of WORD. */
export function babelPlugin(word: string): string {
  return `module.exports = () => ({ visitor: { StringLiteral(path) { if (path.node.value === 'WORD') path.node.value = '${word}' } } })`
}

/** Plugins that read the word from `word.txt`, of Rollup and its relatives and of esbuild. */
export const readsWord: string = `{ name: 'plug', transform(code, id) {
  return /src.*js$/.test(id) ? code.replace('WORD', fs.readFileSync('word.txt', 'utf8')) : null
} }`
export const startsWithWord: string = `{ name: 'plug', async buildStart() { word = String(await this.fs.readFile('word.txt')) }, transform(code, id) {
  return /src.*js$/.test(id) ? code.replace('WORD', word) : null
} }`
export const loadsWord: string = `{ name: 'plug', setup({ onLoad }) {
  onLoad({ filter: /src.*\\.js$/ }, ({ path }) => ({ contents: fs.readFileSync(path, 'utf8').replace('WORD', fs.readFileSync('word.txt', 'utf8')) }))
} }`
