import { VarveWebpackPlugin } from '@varve/plugins/webpack'

const isCached = !process.env.WITHOUT_VARVE

export default {
  mode: 'production',
  entry: './src/main.ts',
  devtool: 'source-map',
  resolve: { extensions: ['.ts', '.js'], extensionAlias: { '.js': ['.ts', '.js'] } },
  module: { rules: [{ test: /\.ts$/, loader: 'ts-loader', options: { transpileOnly: true } }] },
  cache: isCached ? { type: 'memory' } : false, // webpack's memory cache stays in front
  plugins: isCached ? [new VarveWebpackPlugin()] : [],
}
