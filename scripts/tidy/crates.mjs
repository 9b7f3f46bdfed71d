// @ts-check
// Checks the dependencies between crates, and those from outside: they are few, and each has a reason.
import { CRATE_ARROWS, DEPENDENCIES_MAX } from './rules.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */
/** @typedef {{ name: string, line: number, isForTests: boolean, reason: string }} Dependency */

/** @param {Source} source @returns {Finding[]} */
export function checkCrate({ path, text }) {
  if (!path.endsWith('Cargo.toml')) return []
  const { name, dependencies } = readManifest(text)
  if (name === undefined) return []
  const ours = dependencies.filter((dependency) => dependency.name.startsWith('varve-'))
  const foreign = dependencies.filter((dependency) => !ours.includes(dependency))
  const arrows = ours.flatMap((dependency) => checkArrow(path, name, dependency))
  const reasons = foreign
    .filter((dependency) => dependency.reason === '')
    .map((dependency) => ({
      path,
      line: dependency.line,
      message: `${dependency.name}: a trailing comment with the reason is missing`,
    }))
  return [...arrows, ...reasons, ...checkCount(path, name, foreign)]
}

/** @param {string} path @param {string} name @param {Dependency} dependency @returns {Finding[]} */
function checkArrow(path, name, dependency) {
  const allowed = CRATE_ARROWS.get(name)
  if (allowed === undefined) return [] // benches and tools may use any crate
  if (dependency.name === name || allowed.includes(dependency.name)) return []
  return [{ path, line: dependency.line, message: `${name} may not use ${dependency.name}` }]
}

/** @param {string} path @param {string} name @param {Dependency[]} foreign @returns {Finding[]} */
function checkCount(path, name, foreign) {
  const limit = DEPENDENCIES_MAX.get(name) ?? Infinity
  const shipped = foreign.filter((dependency) => !dependency.isForTests)
  const line = shipped[limit]?.line
  return line === undefined ? [] : [{ path, line, message: `${shipped.length} dependencies, the limit is ${limit}` }]
}

/**
 * Reads the part of TOML that these manifests use: one dependency per line, or one table per dependency.
 * @param {string} text
 */
function readManifest(text) {
  /** @type {string | undefined} */
  let name
  /** @type {Dependency[]} */
  const dependencies = []
  let section = ''
  for (const [index, content] of text.split('\n').entries()) {
    const header = /^\[+([^[\]]+)\]/.exec(content)?.[1]
    section = header ?? section
    const kind = /^(?:target\..*\.)?((?:dev-|build-)?dependencies)(?:\.([\w-]+))?$/.exec(section)
    const key = header === undefined ? /^([\w-]+)(?:\.[\w-]+)?\s*=/.exec(content)?.[1] : undefined
    const dependency = header === undefined && kind?.[2] === undefined ? key : kind?.[2]
    if (section === 'package' && key === 'name') name = /"([^"]+)"/.exec(content)?.[1]
    if (kind === null || dependency === undefined || (header === undefined && kind[2] !== undefined)) continue
    const reason = /[\]}"e]\s*#\s*(\S.*)$/.exec(content)?.[1] ?? ''
    dependencies.push({ name: dependency, line: index + 1, isForTests: kind[1] === 'dev-dependencies', reason })
  }
  return { name, dependencies }
}
