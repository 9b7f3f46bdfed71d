// @ts-check
// The files of a generated program.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomOf } from '../../safety/random.mjs'
import { COPIES, FILES } from './subjects.mjs'

/** @typedef {import('./program.mjs').Program} Program */
/** @typedef {import('./program.mjs').Operation} Operation */

/** Files of each project that are not generated. */
const ADAPTERS = [
  'operations.cjs',
  'loader.cjs',
  'collector.cjs',
  'virtual.cjs',
  'rollup-plugin.cjs',
  'esbuild-plugin.cjs',
]

/** @param {string} name @param {string} word */
export const sourceOf = (name, word) => `console.log('${name} ${word}', WORDS)\n`

/** @param {Program} program @returns {Record<string, string>} */
export function filesOf(program) {
  const random = randomOf(program.seed)
  const fill = (/** @type {string} */ text) => text.replaceAll('WORD', () => `w${1000 + random(9000)}`)
  const adapters = ADAPTERS.map((name) => [name, readFileSync(join(import.meta.dirname, 'project', name), 'utf8')])
  return {
    ...Object.fromEntries(Object.entries(FILES).map(([path, text]) => [path, fill(text)])),
    '.git/HEAD': 'ref: refs/heads/main', // Paths are relative to the checkout, which moves.
    ...COPIES,
    ...Object.fromEntries(adapters),
    'src/main.js': program.modules.map((name) => `import './${name}.js'\n`).join(''),
    ...Object.fromEntries(program.modules.map((name) => [`src/${name}.js`, sourceOf(name, 'first')])),
    [`build.config.${program.format}`]: configOf(program),
    [`vite.config.${program.format}`]: viteConfigOf(program),
    'load.cjs': `exports.loadGenerated = async () => ${program.format === 'cjs' ? "require('./plugin.cjs')" : "import('./plugin.mjs')"}\n`,
    [`plugin.${program.format}`]: pluginOf(program),
  }
}

/** Texts of code. @param {readonly string[]} lines @param {string} indent */
const linesOf = (lines, indent) => lines.map((line) => `${indent}${line},\n`).join('')

/** @param {Program} program */
function configOf({ tool, format, config }) {
  const adapter = tool === 'esbuild' ? './esbuild-plugin.cjs' : './rollup-plugin.cjs'
  const isModule = format === 'mjs'
  const loads = isModule
    ? `import operations from './operations.cjs'
import adapt from '${adapter}'
import * as generated from './plugin.mjs'
const { operateSync } = operations`
    : `const { operateSync } = require('./operations.cjs')
const adapt = require('${adapter}')
const generated = require('./plugin.cjs')`
  return `${loads}
const words = [
  'option 0',
${linesOf(config.map(earlyOf), '  ')}]
const makePlugin = (settings, cached) => cached(adapt(generated, { ...settings, words }))
${isModule ? 'export { generated, makePlugin, words }' : 'module.exports = { generated, makePlugin, words }'}
`
}

/** The settings and the cache are globals, which cost nothing else. @param {Program} program */
const viteConfigOf = ({ format }) =>
  format === 'cjs'
    ? `module.exports = { plugins: [require('./build.config.cjs').makePlugin(...globalThis.generated)] }\n`
    : `import { makePlugin } from './build.config.mjs'\nexport default { plugins: [makePlugin(...globalThis.generated)] }\n`

/** @param {Operation} operation */
function earlyOf({ kind, subject }) {
  // Variables that are read before the first run are found by their names in the text.
  return kind === 'variable' ? `process.env.${subject} ?? 'unset'` : `operateSync('${kind}', '${subject}')`
}

/** @param {Operation} operation */
function callOf({ kind, subject, isKept }) {
  const call = `operate('${kind}', '${subject}', self)`
  return isKept ? `await keep('${kind} ${subject}', () => ${call})` : `await ${call}`
}

/** @param {Program} program */
function pluginOf(program) {
  const { tool, format, load, start, calls, declared, virtual } = program
  const isModule = format === 'mjs'
  const exported = [
    'transform',
    'collected',
    ...(start.length > 0 ? ['start'] : []),
    ...(virtual === 'none' ? [] : ['virtual']),
  ]
  const work = Object.entries(calls).map(([name, operations]) => {
    const reports = (declared[name] ?? []).map(([kind, path]) => `self.declare${kind}(at('${path}'))`)
    return `  async ${name}(self) {
${reports.map((report) => `    ${report}\n`).join('')}    return [
${linesOf(operations.map(callOf), '      ')}    ]
  },
`
  })
  return `${isModule ? "import operations from './operations.cjs'\nconst" : 'const'} { at, operate, operateSync } = ${isModule ? 'operations' : "require('./operations.cjs')"}
const edition = 'edition 0'
const memory = new Map()
const collection = new Map()
const virtuals = new Map()
const keep = (key, work) => {
  if (!memory.has(key)) memory.set(key, work())
  return memory.get(key)
}
const loaded = [
${linesOf(load.map(earlyOf), '  ')}]
let started = []
async function start() {
  const self = { name: 'start', emit() {}, readFile: () => '' }
  started = [
${linesOf(start.map(callOf), '    ')}  ]
}
const works = {
${work.join('')}}
async function transform(source, self) {
  const words = [edition, ...self.words, ...loaded, ...started, ...((await works[self.name]?.(self)) ?? [])]
  for (const word of words) {
    if (word.includes('bad')) throw new Error(\`\${self.name}: \${word}\`)
    if (word.includes('warn')) self.warn(\`\${self.name}: \${word}\`)
  }
  collection.set(self.name, words.join())
  virtuals.set(self.name, words.join())
  return source.replace('WORDS', JSON.stringify(words))${virtual === 'none' ? '' : ` + \`import '${tool === 'webpack' ? './' : ''}virtual:\${self.name}'\\n\``}
}
const collected = () => [...collection].map(([name, words]) => \`\${name}: \${words}\\n\`).sort().join('')
const virtual = (name) => \`console.log('virtual', \${JSON.stringify(${virtual === 'file' ? "operateSync('readFileSync', 'shared/settings.txt')" : 'virtuals.get(name)'})})\\n\`
${isModule ? `export { ${exported.join(', ')} }` : `module.exports = { ${exported.join(', ')} }`}
`
}
