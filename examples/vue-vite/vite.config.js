import vue from '@vitejs/plugin-vue'
import { varve } from '@varve/plugins/vite'

export default {
  plugins: [vue(), process.env.WITHOUT_VARVE ? undefined : varve()],
}
