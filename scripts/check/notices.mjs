// @ts-check
// `node scripts/check/notices.mjs`: writes the notices of all crates linked into the addon and the WebAssembly modules, on any
// platform, and of all packages bundled into the command, to packages/varve/THIRD-PARTY-NOTICES.txt, and those of the packages
// bundled into the page of `varve view` to packages/view. `npm run check` compares them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at, isMain } from '../common/root.mjs'
import { run, runMain } from '../common/steps.mjs'
import { LOCKED, rustEnv } from '../common/tools.mjs'

const NAME = 'THIRD-PARTY-NOTICES.txt'
const TEXTS = /^(?:licen[cs]e|copying|notice|unlicense|copyright)/i
const RULE = '='.repeat(100)

const HEAD = `Notices of third-party software
${RULE}

The addon and the WebAssembly modules of Varve contain the crates below, and the standard library of Rust
(copyright The Rust Project Developers, MIT OR Apache-2.0, https://www.rust-lang.org/policies/licenses). The command
\`varve\` contains the npm packages at the end.
Of licences to choose from, Varve takes the MIT license, or else CC0, if it is offered. Which crates a file contains depends on
its platform.
`

const VIEW_HEAD = `Notices of third-party software
${RULE}

The page of \`varve view\` contains the npm packages below.
`

/** Some crates name their licence and authors, but do not include the text. */
const MIT = readFileSync(at('LICENSE'), 'utf8').replace(/^[^]*?(?=Permission is hereby granted)/, '')

/**
 * @typedef {object} Crate
 * @property {string} name
 * @property {string} version
 * @property {string} license
 * @property {string | null} repository
 * @property {string | null} source
 * @property {string} manifest_path
 * @property {string[]} authors
 */

/** The linked crates by name and version, without procedural macros and build scripts. */
async function linkedCrates() {
  const options = { env: rustEnv(), stderr: /** @type {const} */ ('ignore') }
  const edges = ['--edges=normal,no-proc-macro', '--target=all', '--prefix=none', '--format={p}']
  const tree = await run('cargo', ['tree', LOCKED, '--package=varve-node', '--package=varve-wasm', ...edges], options)
  const linked = new Set(tree.split('\n').map((line) => line.split(' ').slice(0, 2).join(' ')))
  /** @type {Crate[]} */
  const crates = JSON.parse(await run('cargo', ['metadata', LOCKED, '--format-version=1'], options)).packages
  return crates.filter(({ name, version, source }) => source !== null && linked.has(`${name} v${version}`)).sort(byName)
}

/** @param {Crate} one @param {Crate} other */
const byName = (one, other) => (`${one.name} ${one.version}` < `${other.name} ${other.version}` ? -1 : 1)

/** The npm packages that a package installs in order to bundle them, by name. @param {string} folder @returns {Crate[]} */
function bundledPackages(folder) {
  const names = Object.keys(readJson(`${folder}/package.json`).devDependencies).filter(
    (name) => !name.startsWith('@types/'),
  )
  for (const name of names) {
    const { dependencies, optionalDependencies } = readJson(`node_modules/${name}/package.json`)
    names.push(...Object.keys({ ...dependencies, ...optionalDependencies }).filter((other) => !names.includes(other)))
  }
  return names.sort().map((name) => {
    const manifest_path = at(`node_modules/${name}/package.json`)
    const { version, license, repository } = readJson(`node_modules/${name}/package.json`)
    return {
      name,
      version,
      license,
      repository: repository?.url ?? repository ?? null,
      source: null,
      manifest_path,
      authors: [],
    }
  })
}

/** @param {string} path relative to the root */
const readJson = (path) => JSON.parse(readFileSync(at(path), 'utf8'))

/**
 * The licence texts of a crate: only that of MIT or else of CC0 if it is one of the choices. If another licence applies as well, all but
 * that of Apache, which is a choice beside MIT.
 * @param {Crate} crate
 */
function textsOf({ name: crate, manifest_path: manifest, license, authors }) {
  const folder = dirname(manifest)
  const names = readdirSync(folder)
    .filter((name) => TEXTS.test(name))
    .sort()
  const [choice] = license.includes('AND') ? [] : (/\bMIT\b/.exec(license) ?? /\bCC0\b/.exec(license) ?? [])
  const chosen = names.filter((name) => choice !== undefined && name.toUpperCase().includes(choice))
  const left = license.startsWith('(MIT OR Apache-2.0) AND ') ? names.filter((name) => !name.includes('APACHE')) : names
  const texts = (chosen.length > 0 ? chosen : left).map((name) => readFileSync(join(folder, name), 'utf8'))
  if (texts.length === 0 && license === 'MIT' && authors.length > 0)
    texts.push(`Copyright (c) ${authors.join(', ')}\n\n${MIT}`)
  if (texts.length === 0)
    throw new Error(`the crate '${crate}' comes without the text of its licence: add it to ${NAME}`)
  return texts.map((text) =>
    text
      .replaceAll('\r', '')
      .replaceAll(/[ \t]+$/gm, '')
      .trim(),
  )
}

/** The text of each file of notices. @returns {Promise<readonly (readonly [file: string, text: string])[]>} */
async function notices() {
  const varve = 'packages/varve'
  const view = 'packages/view'
  return [
    [`${varve}/${NAME}`, textOf(HEAD, [...(await linkedCrates()), ...bundledPackages(varve)])],
    [`${view}/${NAME}`, textOf(VIEW_HEAD, bundledPackages(view))],
  ]
}

/** @param {string} head @param {readonly Crate[]} crates */
function textOf(head, crates) {
  /** @type {Map<string, string>} The crate above that has the text of a licence in full, by its words. */
  const above = new Map()
  const one = (/** @type {Crate} */ crate) => {
    const { name, version, license, repository } = crate
    const texts = textsOf(crate)
      .map((text) => writtenOnce(text, `${name} ${version}`, above))
      .join(`\n\n${'-'.repeat(100)}\n\n`)
    return [RULE, `${name} ${version}`, license, repository ?? '', '', texts, ''].join('\n')
  }
  return `${head}\n${crates.map(one).join('\n')}`
}

/**
 * The copyright, and what it permits: in full, or the crate above with the same words.
 * @param {string} text of a licence
 * @param {string} crate
 * @param {Map<string, string>} above
 */
function writtenOnce(text, crate, above) {
  const start = Math.max(text.search(/^Permission is hereby granted/m), 0)
  const words = text.slice(start).split(/\s+/).join(' ')
  const first = above.get(words)
  if (first === undefined) above.set(words, crate)
  const isWritten = first !== undefined && first !== crate
  return isWritten
    ? `${text.slice(0, start)}The rest of this licence has the same words as that of ${first} above.`
    : text
}

/** Throws if the notices do not match the linked crates. */
export async function checkNotices() {
  for (const [file, text] of await notices()) {
    if (readFileSync(at(file), 'utf8').replaceAll('\r', '') === text) continue
    throw new Error(
      `${file} is not up to date: crates or packages were added, updated or removed. Run 'node scripts/check/notices.mjs'.`,
    )
  }
}

if (isMain(import.meta))
  await runMain(async () => (await notices()).forEach(([file, text]) => writeFileSync(at(file), text)))
