import { svelte } from '@sveltejs/vite-plugin-svelte'
import { varve } from '@varve/plugins/vite'
import { markdown } from './markdown.js'

export default {
  plugins: [svelte(), markdown(), process.env.WITHOUT_VARVE ? undefined : varve({ plugins: ['markdown'] })],
}
