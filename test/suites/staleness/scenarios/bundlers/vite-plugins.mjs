// @ts-check
// Vite: plugins that many projects use, and state that a plugin collects.
import { WORDS } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const VITE_PLUGINS = [
  {
    name: 'Vite: a load hook, and requests with a query',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import fs from 'node:fs'
        const plug = {
          name: 'plug',
          load(id) {
            const [f, q] = id.split('?')
            if (!f.endsWith('.txt')) return
            return 'export default ' + JSON.stringify(fs.readFileSync(f, 'utf8') + ' ' + q)
          },
          transform(code, id) {
            if (id.includes('.txt'))
              return {
                code:
                  code + ';/*T ' + id.split('?')[1] + '*/console.log(' + JSON.stringify(id.split('?')[1] ?? '') + ')',
                map: null
              }
          }
        }
        export default ({ mode }) => ({
          plugins: [
            plug,
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'src/main.js': `import a from './t.txt?x'
        import b from './t.txt?v=1'
        import c from './t.txt?v=2'
        import d from './u.txt?t=5'
        console.log(a, b, c, d)`,
      'src/t.txt': 'text',
      'src/u.txt': 'utext',
    },
    start: [['age', 'src/t.txt']],
    steps: {
      'loaded file': [['write', 'src/t.txt', 'text2']],
      'loaded file aged': [['age', 'src/t.txt']],
      'loaded file, same size and same time': [['replaceKeepingTime', 'src/t.txt', 'text2', 'text3']],
      'query ?v= changed': [['replace', 'src/main.js', '?v=1', '?v=7']],
    },
  },
  {
    name: 'Vite: what buildStart collects',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': String.raw`import { varve } from '@varve/plugins/vite'
        import fs from 'node:fs'
        let list
        const plug = {
          name: 'plug',
          buildStart() {
            list = fs.readdirSync('pages').join()
          },
          transform(code, id) {
            if (!/src.*\.js/.test(id)) return
            return { code: code.replace('WORD', list), map: null }
          }
        }
        export default ({ mode }) => ({
          plugins: [
            plug,
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'pages/a.js': '',
    },
    steps: {
      'what buildStart collects, used in transform': [['write', 'pages/b.js', '']],
    },
  },
  {
    name: 'Vite: unplugin-vue-components',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import vue from '@vitejs/plugin-vue'
        import Components from 'unplugin-vue-components/vite'

        export default ({ mode }) => ({
          plugins: [
            vue(),
            Components({ dirs: ['src/components'], dts: false }),
            process.env.VARVE_ON
              ? varve({ plugins: ['vue', { name: 'vue-components', stateless: true }], onStats: (s) => globalThis.varveStats.push(s) })
              : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'src/main.js': `import A from './App.vue'
        console.log(A)`,
      'src/App.vue': `<script setup>const a=1</script>
        <template><Foo/><Bar/></template>
        <style scoped>a{color:red}</style>`,
      'src/components/Foo.vue': '<template><p>foo</p></template>',
    },
    steps: {
      'component file added': [['write', 'src/components/Bar.vue', '<template><p>bar</p></template>']],
      'component file moved': [
        ['remove', 'src/components/Foo.vue'],
        ['write', 'src/components/x/Foo.vue', '<template><p>foo2</p></template>'],
      ],
      'component removed': [['remove', 'src/components/Bar.vue']],
    },
  },
  {
    name: 'Vite: unplugin-auto-import',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import Auto from 'unplugin-auto-import/vite'

        export default ({ mode }) => ({
          plugins: [
            Auto({ dirs: ['src/util'], dts: false, imports: [] }),
            process.env.VARVE_ON
              ? varve({ plugins: [{ name: 'auto-import', stateless: true }], onStats: (s) => globalThis.varveStats.push(s) })
              : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'src/main.js': 'console.log(helper, typeof other)',
      'src/util/u.js': `export const helper = 1
        export default 5`,
    },
    steps: {
      'export added': [['write', 'src/util/o.js', 'export const other = 2']],
      'export moved to another file': [
        ['write', 'src/util/u.js', 'export default 5'],
        [
          'write',
          'src/util/o.js',
          `export const other = 2
          export const helper = 3`,
        ],
      ],
    },
  },
  {
    name: 'Vite: Vue components with parts in other files',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import vue from '@vitejs/plugin-vue'

        export default ({ mode }) => ({
          plugins: [
            vue(),
            process.env.VARVE_ON ? varve({ plugins: ['vue'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'src/main.js': `import A from './App.vue'
        import S from './Src.vue'
        import T from './Ts.vue'
        console.log(A, S, T)`,
      'src/App.vue': `<script setup>import {ref} from "vue"; const c=ref("red")</script>
        <template><p class="a">{{c}}</p></template>
        <style scoped lang="scss">@use "./v"; .a{color:v-bind(c);background:v.$b}</style>
        <style module>.m{color:red}</style>`,
      'src/_v.scss': '$b: blue;',
      'src/Src.vue': `<script src="./s.js"></script><template src="./t.html"></template>
        <style src="./s.css" scoped></style>`,
      'src/s.js': 'export default { data: () => ({ a: 1 }) }',
      'src/t.html': '<div>t {{a}}</div>',
      'src/s.css': `div {
          color: green;
        }`,
      'src/Ts.vue': `<script setup lang="ts">import type {P} from "./p"; defineProps<P>()</script>
        <template>{{x}}</template>`,
      'src/p.ts': `export interface P {
          x: string
        }`,
    },
    steps: {
      template: [['replace', 'src/App.vue', '{{c}}', '{{c}}!']],
      style: [['replace', 'src/App.vue', 'color:v-bind', 'fill:v-bind']],
      'sass partial': [['write', 'src/_v.scss', '$b: cyan;']],
      'script src': [['write', 'src/s.js', 'export default { data: () => ({ a: 2 }) }']],
      'template src': [['write', 'src/t.html', '<div>t2 {{a}}</div>']],
      'style src': [
        [
          'write',
          'src/s.css',
          `div {
            color: olive;
          }`,
        ],
      ],
      'imported type': [
        [
          'write',
          'src/p.ts',
          `export interface P {
            x: string
            y: number
          }`,
        ],
      ],
      'scoped removed': [['replace', 'src/App.vue', 'style scoped', 'style']],
    },
  },
  {
    name: 'Vite: vite-plugin-svgr and its config',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import svgr from 'vite-plugin-svgr'

        export default ({ mode }) => ({
          plugins: [
            svgr(),
            process.env.VARVE_ON ? varve({ plugins: ['svgr'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'src/main.js': `import I from './i.svg?react'
        console.log(I)`,
      'src/i.svg': '<svg viewBox="0 0 1 1"><g><path d="M0 0"/></g></svg>',
    },
    steps: {
      svg: [['write', 'src/i.svg', '<svg viewBox="0 0 2 2"><g><path d="M1 1"/></g></svg>']],
      '.svgrrc.json': [['write', '.svgrrc.json', '{ "dimensions": false, "replaceAttrValues": { "M1 1": "{z}" } }']],
    },
  },
]
