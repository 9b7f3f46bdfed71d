import react from '@vitejs/plugin-react'
import { varve } from '@varve/plugins/vite'

const options = { babel: { plugins: ['babel-plugin-react-compiler'] } }
const isCached = !process.env.WITHOUT_VARVE

export default {
  framework: '@storybook/react-vite',
  stories: ['../src/**/*.stories.jsx'],
  core: { disableTelemetry: true },
  viteFinal(config) {
    config.plugins.push(react(options))
    if (isCached) config.plugins.push(varve({ plugins: ['react-babel'], cacheKey: options, trackReads: false }))
    return config
  },
}
