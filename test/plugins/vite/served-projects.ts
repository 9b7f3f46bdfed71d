/** Three small projects for development servers: Vue, MDX, and React with Babel. */

const PARTS = 6

/** The text of one module, by its number. */
type Part = (number: number) => string

const vue: Part = (number) => `<script setup>
import { ref } from 'vue'
defineProps({ title: String })
const count = ref(${number})
</script>
<template><p class="part" @click="count += 1">{{ title }} {{ count }} of ${number + 10}</p></template>
<style scoped>
.part { order: ${number} }
</style>
`

const mdx: Part = (number) => `export const weight = ${number}

# Part ${number + 10}

Some *text* with the weight {weight} and ${number + 20} more.
`

const react: Part = (number) => `import { useState } from 'react'

export default function Part({ title = 'Part ${number}' }) {
  const [count, setCount] = useState(${number + 10})
  return <p onClick={() => setCount(count ** ${(number % 4) + 2})}>{title} {count}</p>
}
`

const IMPORTS = `import { varve } from '@varve/plugins/vite'
import { banner } from './banner.mjs'
const note = { name: 'note', transform: (code, id) => (id.endsWith('main.js') ? code + '\\n// ' + banner : undefined) }
`

function config(imports: string, plugin: string, name: string): string {
  const cached = `process.env.SERVE_CACHED && varve({ plugins: ['${name}'], dir: 'node_modules/.cache/varve', onStats: (one) => stats.push(one) })`
  return `${imports}\n${IMPORTS}\nexport default { plugins: [${plugin}, note, ${cached}] }\n`
}

function project(extension: string, part: Part, viteConfig: string): Readonly<Record<string, string>> {
  const names = Array.from({ length: PARTS }, (_, number) => `part${number}`)
  const main = [
    ...names.map((name) => `import ${name} from './${name}.${extension}'`),
    `console.log(${names.join(', ')})`,
  ].join('\n')
  return {
    'package.json': '{"name": "application", "version": "1.0.0", "type": "module"}\n',
    'vite.config.mjs': viteConfig,
    'banner.mjs': "export const banner = 'one'\n",
    'src/main.js': `${main}\n`,
    ...Object.fromEntries(names.map((name, number) => [`src/${name}.${extension}`, part(number)])),
  }
}

/** A package whose plugin names the environment, and a package for the browser; both say which version they are. */
export function installed(version: string): Readonly<Record<string, string>> {
  const manifest = (name: string): string => JSON.stringify({ name, version, type: 'module', exports: './index.js' })
  const transform =
    '(code, id) { if (/part/.test(id)) return { code: `${code}\\n// ${version} in ${this.environment.name}`, map: null } }'
  return {
    'node_modules/marker/package.json': manifest('marker'),
    'node_modules/marker/index.js': `const version = '${version}'\nexport const marker = () => ({ name: 'marker', transform${transform} })\n`,
    'node_modules/widget/package.json': manifest('widget'),
    'node_modules/widget/index.js': `export const widget = '${version}'\n`,
    'node_modules/.package-lock.json': JSON.stringify({
      lockfileVersion: 3,
      packages: { 'node_modules/marker': { version }, 'node_modules/widget': { version } },
    }),
  }
}

const plain: Part = (number) => `import { widget } from 'widget'\nexport default [widget, ${number}]\n`

/** A project whose plugin is an installed package, of the version that `installed` writes. */
export const INSTALLED: Readonly<Record<string, string>> = {
  ...project('js', plain, config("import { marker } from 'marker'", 'marker()', 'marker')),
  ...installed('1.0.0'),
}

const BABEL = `{
  ...babel({
    babelHelpers: 'bundled',
    babelrc: false,
    extensions: ['.jsx'],
    include: 'src/**',
    plugins: ['@babel/plugin-syntax-jsx', '@babel/plugin-transform-exponentiation-operator'],
  }),
  enforce: 'pre',
}`

export const PROJECTS: Readonly<Record<'Vue' | 'MDX' | 'React with Babel', Readonly<Record<string, string>>>> = {
  Vue: project('vue', vue, config("import vue from '@vitejs/plugin-vue'", 'vue()', 'vue')),
  MDX: project(
    'mdx',
    mdx,
    config("import mdx from '@mdx-js/rollup'", "{ ...mdx(), enforce: 'pre' }", '@mdx-js/rollup'),
  ),
  'React with Babel': project('jsx', react, config("import { babel } from '@rollup/plugin-babel'", BABEL, 'babel')),
}
