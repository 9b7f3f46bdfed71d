/** Installs packages of this repository inside a project, as npm and pnpm do, so that a copy of the project has its own. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Layout = 'npm' | 'pnpm'

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))

/** The packages of this repository, and what is not published of them. */
const OWN = join(REPOSITORY, 'packages')
const LEFT_OUT = /^(?:src|node_modules|target|test)$/

/** Puts packages and everything that they depend on into `node_modules` of a folder. */
export function install(folder: string, names: readonly string[], layout: Layout): void {
  const all = new Map<string, string>()
  for (const name of names) collect(name, REPOSITORY, all)
  for (const [name, source] of all) {
    const place = layout === 'npm' ? placeOf(folder, name) : placeOf(storeOf(folder, name), name)
    copy(source, place)
    if (layout === 'npm') continue
    for (const other of dependenciesOf(source))
      if (all.has(other) && other !== name) link(folder, storeOf(folder, name), other)
    if (names.includes(name)) link(folder, folder, name)
  }
}

/** The directory of one package in the store of pnpm. */
function storeOf(folder: string, name: string): string {
  return join(folder, 'node_modules/.pnpm', `${name.replace('/', '+')}@1.0.0`)
}

function placeOf(folder: string, name: string): string {
  return join(folder, 'node_modules', name)
}

function link(folder: string, from: string, name: string): void {
  const path = placeOf(from, name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(relative(dirname(path), placeOf(storeOf(folder, name), name)), path)
}

/** A package and its dependencies, by name. The repository has one version of each of them. */
function collect(name: string, from: string, all: Map<string, string>): void {
  if (all.has(name)) return
  const source = findPackage(name, from)
  if (source === undefined) return // optional, for another platform
  all.set(name, source)
  for (const other of dependenciesOf(source)) collect(other, source, all)
}

function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = placeOf(folder, name)
    if (existsSync(join(path, 'package.json'))) return realpathSync(path)
    if (folder === dirname(folder)) return undefined
  }
}

function dependenciesOf(source: string): string[] {
  const manifest: Record<string, unknown> = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const fields = ['dependencies', 'optionalDependencies', 'peerDependencies'].map((field) => manifest[field])
  const named = fields.flatMap((field) => (typeof field === 'object' && field !== null ? Object.keys(field) : []))
  return [...new Set(named)].filter((name) => !isTool(name))
}

/** Bundlers are peers of each other; each project has one. */
function isTool(name: string): boolean {
  return /^(?:webpack|rollup|@rspack\/core|esbuild|less|sass|sass-embedded|stylus|jiti|tsx|terser|yaml|typescript|sugarss|@types\/.*)$/.test(
    name,
  )
}

/** Links the files of a package: a copy of Rolldown's addon for each test takes long. */
function copy(source: string, target: string): void {
  mkdirSync(target, { recursive: true })
  for (const name of readdirSync(source)) {
    const path = join(source, name)
    if (source.startsWith(OWN) && LEFT_OUT.test(name)) continue
    if (lstatSync(path).isDirectory()) copy(path, join(target, name))
    else linkSync(path, join(target, name))
  }
}
