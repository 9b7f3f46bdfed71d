// @ts-check
// A project for each plugin that is known to keep nothing between its hooks, or whose hooks show nothing to keep.

/**
 * @typedef {object} Project
 * @property {'vite' | 'rollup'} tool
 * @property {string} plugin its name in the config
 * @property {string} imports of the config
 * @property {string} make an expression for the plugins
 * @property {string} [options] of `cached` in Rollup
 * @property {readonly string[]} [external] modules that are not bundled
 * @property {Readonly<Record<string, string>>} files
 * @property {readonly [file: string, before: string, after: string]} edit
 */

const entry = (/** @type {string} */ name) => `import it from './${name}'\nconsole.log(it)\n`
const REACT = ['react', 'react/jsx-runtime', 'react/jsx-dev-runtime', 'react-dom']
const SVG = '<svg viewBox="0 0 4 4"><path d="M0 0h4v4z"/></svg>\n'
const JSX = 'export default (props) => <p className="part">{props.title} of WORD</p>\n'

/** @type {Readonly<Record<string, Project>>} */
export const PROJECTS = {
  vue: {
    tool: 'vite',
    plugin: 'vue',
    imports: "import vue from '@vitejs/plugin-vue'",
    make: 'vue()',
    external: ['vue'],
    files: {
      'src/main.js': entry('app.vue'),
      'src/app.vue':
        '<script setup>\nconst name = "WORD"\n</script>\n<template><p class="a">{{ name }}</p></template>\n<style scoped>.a { color: red }</style>\n',
    },
    edit: ['src/app.vue', 'red', 'blue'],
  },
  'unplugin-vue': {
    tool: 'rollup',
    plugin: 'unplugin-vue',
    imports: "import vue from 'unplugin-vue/rollup'",
    make: 'vue()',
    external: ['vue'],
    files: {
      'src/main.js': entry('app.vue'),
      'src/app.vue':
        '<script setup>\nconst name = "WORD"\n</script>\n<template><p class="a">{{ name }}</p></template>\n',
    },
    edit: ['src/app.vue', 'WORD', 'word'],
  },
  'vue-jsx': {
    tool: 'vite',
    plugin: 'vue-jsx',
    imports: "import jsx from '@vitejs/plugin-vue-jsx'",
    make: 'jsx()',
    external: ['vue'],
    files: {
      'src/main.js': entry('app.jsx'),
      'src/app.jsx':
        "import { defineComponent } from 'vue'\nexport default defineComponent({ setup: () => () => <p class='a'>WORD</p> })\n",
    },
    edit: ['src/app.jsx', 'WORD', 'word'],
  },
  'react-babel': {
    tool: 'vite',
    plugin: 'react-babel',
    imports: "import react from '@vitejs/plugin-react'",
    make: "react({ babel: { presets: ['@babel/preset-env'] } })",
    external: REACT,
    files: { 'src/main.js': entry('app.jsx'), 'src/app.jsx': JSX },
    edit: ['src/app.jsx', 'WORD', 'word'],
  },
  'rolldown-babel': {
    tool: 'vite',
    plugin: '@rolldown/plugin-babel',
    imports: "import babel from '@rolldown/plugin-babel'",
    make: "babel({ plugins: ['babel-plugin-react-compiler'] })",
    external: [...REACT, 'react/compiler-runtime'],
    files: {
      'src/main.js': entry('app.jsx'),
      'src/app.jsx': `const App = (props) => <p>{props.titles.map((title) => title + ' of WORD')}</p>\nexport default App\n`,
    },
    edit: ['src/app.jsx', 'WORD', 'word'],
  },
  solid: {
    tool: 'vite',
    plugin: 'solid',
    imports: "import solid from 'vite-plugin-solid'",
    make: 'solid()',
    external: ['solid-js', 'solid-js/web'],
    files: { 'src/main.js': entry('app.jsx'), 'src/app.jsx': JSX },
    edit: ['src/app.jsx', 'WORD', 'word'],
  },
  mdx: {
    tool: 'vite',
    plugin: '@mdx-js/rollup',
    imports: "import mdx from '@mdx-js/rollup'",
    make: 'mdx()',
    external: REACT,
    files: { 'src/main.js': entry('page.mdx'), 'src/page.mdx': '# Title\n\nWORD is *here*.\n' },
    edit: ['src/page.mdx', 'WORD', 'word'],
  },
  svgr: {
    tool: 'vite',
    plugin: 'svgr',
    imports: "import svgr from 'vite-plugin-svgr'",
    make: 'svgr()',
    external: REACT,
    files: { 'src/main.js': entry('image.svg?react'), 'src/image.svg': SVG },
    edit: ['src/image.svg', 'M0 0', 'M1 1'],
  },
  lingui: {
    tool: 'vite',
    plugin: 'lingui',
    imports: "import { lingui } from '@lingui/vite-plugin'",
    make: 'lingui({ cwd: import.meta.dirname })',
    files: {
      'lingui.config.cjs':
        "module.exports = { locales: ['en'], sourceLocale: 'en', catalogs: [{ path: '<rootDir>/src/locales/{locale}', include: ['src'] }], format: 'po' }\n",
      'src/main.js': "import { messages } from './locales/en.po'\nconsole.log(messages)\n",
      'src/locales/en.po': 'msgid ""\nmsgstr ""\n"Language: en\\n"\n\nmsgid "greeting"\nmsgstr "WORD"\n',
    },
    edit: ['src/locales/en.po', 'WORD', 'word'],
  },
  babel: {
    tool: 'rollup',
    plugin: 'babel',
    imports: "import { babel } from '@rollup/plugin-babel'",
    make: "babel({ babelHelpers: 'bundled', presets: [['@babel/preset-env', { targets: 'ie 11' }]] })",
    files: {
      'src/main.js': entry('part.js'),
      'src/part.js': 'export default class { static name = "WORD"; async go() { await 1 } }\n',
    },
    edit: ['src/part.js', 'WORD', 'word'],
  },
  json: {
    tool: 'rollup',
    plugin: 'json',
    imports: "import json from '@rollup/plugin-json'",
    make: 'json()',
    files: { 'src/main.js': entry('data.json'), 'src/data.json': '{ "name": "WORD" }\n' },
    edit: ['src/data.json', 'WORD', 'word'],
  },
  'svgr in Rollup': {
    tool: 'rollup',
    plugin: 'svgr',
    imports: "import svgr from '@svgr/rollup'",
    make: 'svgr()',
    external: REACT,
    files: { 'src/main.js': entry('image.svg'), 'src/image.svg': SVG },
    edit: ['src/image.svg', 'M0 0', 'M1 1'],
  },
  esbuild: {
    tool: 'rollup',
    plugin: 'esbuild',
    imports: "import esbuild from 'rollup-plugin-esbuild'",
    make: 'esbuild({ minify: true })',
    files: { 'src/main.js': entry('part.ts'), 'src/part.ts': 'export default "WORD" as string\n' },
    edit: ['src/part.ts', 'WORD', 'word'],
  },
}
