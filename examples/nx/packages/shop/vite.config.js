import babel from '@rolldown/plugin-babel'
import react from '@vitejs/plugin-react'
import { varve } from '@varve/plugins/vite'

export default {
  plugins: [
    react(),
    babel({ plugins: ['babel-plugin-react-compiler'] }),
    process.env.WITHOUT_VARVE ? undefined : varve(),
  ],
}
