import { babel } from '@rollup/plugin-babel'
import { cached } from '@varve/plugins/rolldown'

const options = {
  babelHelpers: 'bundled',
  extensions: ['.tsx'],
  presets: ['@babel/preset-typescript', ['@babel/preset-react', { runtime: 'automatic' }]],
  plugins: ['babel-plugin-react-compiler'],
}

export default {
  entry: ['src/index.ts', 'src/components/*.tsx'],
  platform: 'neutral',
  dts: true,
  clean: false, // to clean, tsdown lists the project, and the names of all files would be inputs
  plugins: [process.env.WITHOUT_VARVE ? babel(options) : cached(babel(options), { cacheKey: options })],
}
