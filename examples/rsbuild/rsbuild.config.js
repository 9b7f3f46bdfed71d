import { defineConfig } from '@rsbuild/core'
import { pluginReact } from '@rsbuild/plugin-react'
import { VarveRspackPlugin } from '@varve/plugins/rspack'

const isCached = !process.env.WITHOUT_VARVE
const babel = {
  loader: 'babel-loader',
  options: { babelrc: false, configFile: false, parserOpts: { plugins: ['jsx'] }, plugins: ['babel-plugin-react-compiler'] },
}

export default defineConfig({
  plugins: [pluginReact()],
  tools: {
    rspack: (config, { appendRules, appendPlugins }) => {
      // Not `addRules`, which puts a rule first: loaders that Rsbuild adds (`builtin:swc-loader`) have to run after the cached ones.
      appendRules({ test: /\.jsx$/, exclude: /node_modules/, use: isCached ? ['@varve/plugins/loader', babel] : [babel] })
      if (isCached) appendPlugins(new VarveRspackPlugin())
      // Other ids are made of the names of the loaders, so builds with and without Varve could not be compared.
      config.optimization.moduleIds = 'natural'
    },
  },
})
