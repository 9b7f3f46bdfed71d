// @ts-check
// Checks the licences and sources of all dependencies of Varve, by the lock files and cargo's metadata. deny.toml has the allowed
// ones.
import { readdirSync, readFileSync } from 'node:fs'
import { at } from '../common/root.mjs'
import { run } from '../common/steps.mjs'
import { LOCKED, rustEnv } from '../common/tools.mjs'

/** Also allowed for tools, which are not shipped. */
const TOOLS = ['BlueOak-1.0.0', 'CC-BY-4.0', 'CC0-1.0', 'MPL-2.0', 'Python-2.0', 'WTFPL']

const CARGO_LOCKS = [
  'Cargo.lock',
  'bench/rivals/rust/Cargo.lock',
  'test/safety/fuzz/Cargo.lock',
  'test/safety/concurrency/threads/Cargo.lock',
]
const NPM_FOLDERS = [
  '.',
  'bench/rivals/node',
  'scripts/release',
  'test/remote/servers/node',
  'test/suites/known',
  'test/suites/pnp',
  'test/suites/staleness',
  'test/suites/types',
]
const NPM_LOCKS = NPM_FOLDERS.map((folder) => `${folder}/package-lock.json`)
/** Only their sources are checked: the licences of a framework are the choice of its users. */
const EXAMPLE_LOCKS = readdirSync(at('examples')).map((name) => `examples/${name}/package-lock.json`)

const STRANGE = 'is not from the registry, or has no hash'

/** The default registry of cargo. */
const REGISTRY = 'registry+https://github.com/rust-lang/crates.io-index'

/**
 * @typedef {object} LockedPackage
 * @property {string} [license]
 * @property {string} [integrity]
 * @property {string} [resolved] the source of the package
 * @property {boolean} [dev]
 * @property {boolean} [devOptional]
 * @property {boolean} [optional]
 * @property {boolean} [link]
 * @property {boolean} [inBundle] part of the archive of another package, whose hash covers it
 */

/**
 * Whether the allowed licences satisfy an expression (SPDX, or with `/` for OR).
 * @param {string} expression
 * @param {readonly string[]} allowed
 */
export function isAllowed(expression, allowed) {
  const tokens = expression.replaceAll('/', ' OR ').match(/[()]|[^\s()]+/g) ?? []
  let next = 0
  const take = (/** @type {string} */ token) => tokens[next] === token && next++ >= 0
  /** @returns {boolean} */
  const atom = () => {
    if (take('(')) {
      const inner = any()
      return take(')') && inner
    }
    const name = tokens[next++] ?? ''
    // An exception only grants more rights.
    if (take('WITH')) next++
    return allowed.includes(name)
  }
  const all = () => {
    let isMet = atom()
    while (take('AND')) isMet = atom() && isMet
    return isMet
  }
  const any = () => {
    let isMet = all()
    while (take('OR')) isMet = all() || isMet
    return isMet
  }
  return any() && next === tokens.length
}

/** Packages of a Cargo.lock that do not come from the registry, or have no checksum. @param {string} text */
export function strangeCrates(text) {
  const blocks = text
    .split('[[package]]')
    .slice(1)
    .filter((block) => block.includes('\nsource = '))
  const sound = [`\nsource = "${REGISTRY}"\n`, /\nchecksum = "[0-9a-f]{64}"/]
  const isSound = (/** @type {string} */ block) =>
    sound.every((part) => (typeof part === 'string' ? block.includes(part) : part.test(block)))
  return blocks.filter((block) => !isSound(block)).map((block) => /name = "(.*)"/.exec(block)?.[1] ?? block)
}

/**
 * Packages of a package-lock.json that do not come from the registry, or have no hash.
 * @param {Record<string, LockedPackage>} packages
 */
export function strangePackages(packages) {
  const isForeign = (/** @type {LockedPackage} */ { link, inBundle }) => link !== true && inBundle !== true
  const foreign = Object.entries(packages).filter(([path, entry]) => path.includes('node_modules/') && isForeign(entry))
  const isSound = (/** @type {LockedPackage} */ { integrity = '', resolved }) =>
    resolved === undefined && /^sha(?:256|384|512)-/.test(integrity)
  return foreign.filter(([, entry]) => !isSound(entry)).map(([path]) => path)
}

/** @param {string} path @returns {{ packages: Record<string, LockedPackage> }} */
const readLock = (path) => JSON.parse(readFileSync(at(path), 'utf8'))

/** The licences that deny.toml allows. */
function allowedLicences() {
  const list = /^allow = \[(.*?)\]/ms.exec(readFileSync(at('deny.toml'), 'utf8'))?.[1] ?? ''
  return [...list.matchAll(/"(.+?)"/g)].map(([, name]) => name ?? '')
}

/** Throws an error that names every package that is not allowed. */
export async function checkLicences() {
  const strange = (/** @type {string} */ lock) =>
    strangeCrates(readFileSync(at(lock), 'utf8')).map((name) => `${lock}: '${name}' ${STRANGE}`)
  const problems = CARGO_LOCKS.flatMap(strange)
  const allowed = allowedLicences()
  const metadata = await run('cargo', ['metadata', LOCKED, '--format-version=1'], { env: rustEnv(), stderr: 'ignore' })
  for (const { name, license } of JSON.parse(metadata).packages) {
    if (!isAllowed(license ?? 'none', allowed)) problems.push(`Cargo.lock: the licence of '${name}' is ${license}`)
  }
  for (const lock of [...NPM_LOCKS, ...EXAMPLE_LOCKS]) {
    problems.push(...strangePackages(readLock(lock).packages).map((path) => `${lock}: '${path}' ${STRANGE}`))
  }
  for (const lock of NPM_LOCKS) {
    const { packages } = readLock(lock)
    for (const [path, { license = 'none', dev, devOptional, optional, link }] of Object.entries(packages)) {
      if (!path.includes('node_modules/') || link === true) continue
      // Packages that users install with Varve are none of these. Optional packages are parts of bundlers for one platform.
      const isTool = [dev, devOptional, optional].includes(true) || lock !== 'package-lock.json'
      if (!isAllowed(license, isTool ? [...allowed, ...TOOLS] : allowed))
        problems.push(`${lock}: the licence of '${path}' is ${license}`)
    }
  }
  problems.push(...unexplained(JSON.parse(readFileSync(at('package.json'), 'utf8'))))
  if (problems.length > 0) throw new Error(`${problems.join('\n')}\nSee deny.toml for what is allowed.`)
}

/** Overrides of package.json without a reason. @param {Record<string, Record<string, string> | undefined>} manifest */
export function unexplained({ overrides = {}, '//overrides': reasons = {} }) {
  const without = Object.keys(overrides).filter((name) => (reasons[name] ?? '') === '')
  const stale = Object.keys(reasons).filter((name) => overrides[name] === undefined)
  return [
    ...without.map((name) => `package.json: the override of '${name}' has no reason in '//overrides'`),
    ...stale.map((name) => `package.json: '//overrides' explains '${name}', which is not overridden`),
  ]
}
