// @ts-check
// The projects in `examples/`: what their builds write, and how much of a warm build has to come from the cache.
import { checkCachedHandler } from './nitro.mjs'

/**
 * @typedef {object} Example
 * @property {string} name its directory in `examples/`
 * @property {string} title as in the table of docs/examples.md
 * @property {string} output the directory that its build writes
 * @property {readonly string[]} [leftovers] what else a build leaves in the project, such as a cache of the framework: removed before each build
 * @property {number} [missesMax] of a warm build, 0 by default; with `reason`
 * @property {string} [reason] why a build misses
 * @property {readonly RegExp[]} [random] parts of the output that differ between builds of the same sources, without Varve too
 * @property {readonly RegExp[]} [unordered] files of the output whose lines have another order in each build, without Varve too
 * @property {readonly RegExp[]} [ignored] files of the output that describe the build itself
 * @property {readonly string[]} pages sources, named after orders, that `bench/examples` multiplies
 * @property {number} copies of them, so that a build takes longer than a start
 * @property {string} cached what Varve caches in it
 * @property {number} [missesElsewhere] of a build in another directory, 0 by default; with `reason`
 * @property {readonly string[]} [managers] the package managers whose installation is built, all by default
 * @property {(project: string) => Promise<void>} [check] what else its README promises
 */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const DATE = /\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** @type {readonly Example[]} */
export const EXAMPLES = [
  { name: 'vue-vite', title: 'Vue with Vite', cached: "Vue's compiler", output: 'dist', pages: ['src/pages/Orders.vue'], copies: 100 },
  {
    name: 'react-vite',
    title: 'React with Vite',
    cached: 'Babel with the React Compiler',
    output: 'dist',
    pages: ['src/pages/Orders.jsx'],
    copies: 100,
  },
  {
    name: 'svelte-vite',
    title: 'Svelte with Vite',
    cached: 'Markdown pages, not Svelte',
    output: 'dist',
    pages: ['src/pages/Orders.md'],
    copies: 100,
  },
  {
    name: 'webpack-typescript',
    missesElsewhere: 1,
    reason: 'webpack stores the times of a directory for `require.context`, and no digest of it',
    title: 'webpack with TypeScript',
    cached: 'all of webpack',
    output: 'dist',
    pages: ['src/reports/orders.ts'],
    copies: 100,
  },
  {
    name: 'rsbuild',
    title: 'React with Rsbuild',
    cached: 'Babel with the React Compiler',
    output: 'dist',
    pages: ['src/pages/Orders.jsx'],
    copies: 100,
  },
  {
    name: 'nx',
    managers: ['npm'], // Nx runs the scripts with the package manager in PATH
    title: 'An Nx workspace with Vite',
    cached: 'Babel with the React Compiler',
    output: 'packages/shop/dist',
    leftovers: ['.nx'],
    pages: ['packages/ui/src/Orders.jsx'],
    copies: 100,
  },
  {
    name: 'docusaurus',
    title: 'Docusaurus',
    cached: 'all of webpack',
    output: 'build',
    leftovers: ['.docusaurus'],
    missesElsewhere: 260,
    reason: 'Docusaurus has Babel write the absolute path of @babel/runtime into the code of modules for browsers',
    pages: ['docs/orders.mdx'],
    copies: 20,
  },
  {
    name: 'storybook',
    title: 'Storybook',
    cached: 'Babel with the React Compiler',
    output: 'dist',
    random: [/"generatedAt":\d+/g],
    missesElsewhere: 1,
    reason: 'Storybook names a variable of one virtual module after the absolute path of the preview',
    pages: ['src/orders/Orders.jsx', 'src/orders/Orders.stories.jsx'],
    copies: 20,
  },
  {
    name: 'next',
    title: 'Next.js with webpack',
    cached: 'all of webpack',
    output: '.next',
    random: [/"(?:previewMode\w+|encryptionKey)":\s*"[^"]*"/g],
    ignored: [/^trace/],
    missesMax: 10,
    missesElsewhere: 10,
    reason: 'the compiler for the edge has no modules; so its record counts lookups of namespaces, some of which have no entry',
    pages: ['app/orders/page.jsx'],
    copies: 20,
  },
  {
    name: 'nuxt',
    title: 'Nuxt',
    cached: "Vue's compiler",
    output: '.output',
    leftovers: ['.nuxt'],
    random: [UUID, DATE, /"timestamp":\d+/g, /"etag": "[^\n]*/g],
    unordered: [/\/(?:styles|nitro)\.mjs$/],
    missesElsewhere: 35,
    reason: 'Nuxt encodes the absolute path of the project in the ids of its virtual modules',
    pages: ['pages/orders.vue'],
    copies: 20,
    check: checkCachedHandler,
  },
  { name: 'tsdown', title: 'tsdown', cached: 'Babel with the React Compiler', output: 'dist', pages: ['src/components/Orders.tsx'], copies: 100 },
]
