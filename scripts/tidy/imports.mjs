// @ts-check
// Checks the imports between the TypeScript packages: the library imports only Node, the command may use libraries, plugins
// import `varve` and the types of their bundler, and one module chooses the engine.
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import { ENGINE_FOLDER, ENGINE_INTERFACES, ENGINE_LOADER, ENGINE_USERS, ENGINES } from './rules.mjs'
import { lineOf } from './source.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */
/** @typedef {{ from: string, line: number, isType: boolean }} Import */

const LIBRARY = 'packages/varve/src/'
const COMMAND = 'packages/varve/src/cli/'
const GENERATED = 'packages/varve/generated/'
const PLUGINS = 'packages/plugins/src/'

/**
 * What other packages may import besides Node, by their sources.
 * @type {readonly (readonly [from: string, name: string, allowed: readonly string[]])[]}
 */
const ALLOWED = [
  ['packages/remote/src/', 'remote', ['varve', 'aws4', '@redis/client']],
  ['packages/view/src/', 'view', ['varve', 'd3-hierarchy', 'd3-scale']],
]

/** @param {Source} source @param {string} root @returns {Finding[]} */
export function checkImports(source, root) {
  if (source.language !== 'typescript' || !source.path.startsWith('packages/')) return []
  const imports = readImports(source)
  return [...imports.flatMap((one) => checkOrigin(source.path, one, root)), ...checkEngine(source.path, imports)]
}

/** @param {string} path @param {Import} one @param {string} root @returns {Finding[]} */
function checkOrigin(path, { from, line, isType }, root) {
  if (from.startsWith('node:')) return []
  if (from.startsWith('.')) return checkRelative(path, from, line)
  if (path.startsWith(COMMAND)) return []
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from
  if (path.startsWith(LIBRARY)) return [{ path, line, message: `${from}: the library depends on nothing but node:` }]
  const [, owner, allowed] = ALLOWED.find(([sources]) => path.startsWith(sources)) ?? []
  if (allowed !== undefined && !allowed.includes(name)) {
    return [{ path, line, message: `${from}: the ${owner} imports ${allowed.join(', ')} only` }]
  }
  if (!path.startsWith(PLUGINS) || name === 'varve') return []
  const message = `${from}: plugins import varve and their bundler only`
  if (!bundlers(root).includes(name)) return [{ path, line, message }]
  return isType ? [] : [{ path, line, message: `${from}: import the bundler's types only; it passes itself in` }]
}

/** @param {string} path @param {string} from @param {number} line @returns {Finding[]} */
function checkRelative(path, from, line) {
  const target = resolve(path, from)
  const home = path.split('/').slice(0, 2).join('/')
  if (!target.startsWith(`${home}/`)) return [{ path, line, message: `${from}: leaves its package` }]
  return []
}

/** @param {string} path @param {Import[]} imports @returns {Finding[]} */
function checkEngine(path, imports) {
  const isInside = path.startsWith(ENGINE_FOLDER)
  const mayChoose = isInside && ENGINE_USERS.includes(path.slice(ENGINE_FOLDER.length))
  const isForbidden = isInside ? (/** @type {string} */ to) => !mayChoose && isEngine(to) : isBehindLoader
  return imports
    .filter(({ from }) => from.startsWith('.') && isForbidden(resolve(path, from)))
    .map(({ from, line }) => ({ path, line, message: `${from}: only ${ENGINE_LOADER} imports an engine` }))
}

/** Files in the directory of the engines that any module may import. */
const OPEN = new Set([ENGINE_LOADER, ...ENGINE_INTERFACES])

/** @param {string} target */
const isEngine = (target) => ENGINES.some((name) => target === `${ENGINE_FOLDER}${name}`)

/** @param {string} target */
const isBehindLoader = (target) =>
  target.startsWith(GENERATED) || (target.startsWith(ENGINE_FOLDER) && !OPEN.has(target.slice(ENGINE_FOLDER.length)))

/** @param {string} path @param {string} from */
const resolve = (path, from) => posix.join(posix.dirname(path), from)

/** @param {string} root @returns {string[]} */
function bundlers(root) {
  const manifest = JSON.parse(readFileSync(join(root, 'packages/plugins/package.json'), 'utf8'))
  return Object.keys(manifest.peerDependencies ?? {})
}

/**
 * Imports and re-exports, types and dynamic imports included, whose name is a literal.
 * @param {Pick<Source, 'text' | 'path'>} source
 * @returns {Import[]}
 */
export function readImports({ text, path }) {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text).module
  const isType = (/** @type {readonly { isType: boolean }[]} */ entries) =>
    entries.length > 0 && entries.every((entry) => entry.isType)
  const found = [
    ...staticImports.map(({ moduleRequest, entries }) => ({ at: moduleRequest, isType: isType(entries) })),
    ...staticExports.flatMap(({ entries }) => {
      const request = entries[0]?.moduleRequest ?? undefined
      return request === undefined ? [] : [{ at: request, isType: isType(entries) }]
    }),
    ...dynamicImports.map(({ moduleRequest }) => ({ at: moduleRequest, isType: false })),
  ]
  return found.flatMap(({ at: { start, end }, isType: isOfType }) => {
    const name = /^(['"])(.*)\1$/.exec(text.slice(start, end))?.[2]
    return name === undefined ? [] : [{ from: name, line: lineOf(text, start), isType: isOfType }]
  })
}
