// @ts-check
// What has to agree before a release: one version in all packages and crates, exact dependencies between the packages, and a section
// of the changelog.
import { readFileSync } from 'node:fs'
import { optionalDependencies } from '../build/platforms.mjs'
import { at } from '../common/root.mjs'

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {Readonly<Record<string, string>>} [dependencies]
 * @property {Readonly<Record<string, string>>} [optionalDependencies]
 * @property {{ readonly url: string, readonly directory: string }} [repository]
 */

/** The packages of this repository, in the order of publication: each after those that it depends on. */
export const PACKAGES = ['varve', '@varve/plugins', '@varve/remote', '@varve/view']

/** @param {string} name @returns {Manifest} */
const manifestOf = (name) =>
  JSON.parse(readFileSync(at(`packages/${name.replace('@varve/', '')}/package.json`), 'utf8'))

/** The version of Varve, which has its place in the manifest of `varve`. */
export const version = () => manifestOf('varve').version

/** Problems of the sources. @param {{ isDated: boolean }} needed whether the changelog has to name the day of the release */
export function sourceProblems({ isDated }) {
  const expected = version()
  const crates = /^version = "(.*)"$/m.exec(readFileSync(at('Cargo.toml'), 'utf8'))?.[1]
  return [
    ...(crates === expected ? [] : [`Cargo.toml: the version is ${crates} instead of ${expected}`]),
    ...PACKAGES.flatMap((name) => manifestProblems(manifestOf(name), expected)),
    ...changelogProblems(readFileSync(at('CHANGELOG.md'), 'utf8'), expected, isDated),
  ]
}

/**
 * Problems of a manifest: another version, or a dependency on another version of Varve.
 * @param {Manifest} manifest
 * @param {string} expected
 */
export function manifestProblems(
  { name, version: found, dependencies = {}, optionalDependencies: optional = {} },
  expected,
) {
  const own = Object.entries({ ...dependencies, ...optional }).filter(
    ([other]) => other === 'varve' || other.startsWith('@varve/'),
  )
  return [
    ...(found === expected ? [] : [`${name}: the version is ${found} instead of ${expected}`]),
    ...own
      .filter(([, range]) => range !== expected)
      .map(([other, range]) => `${name}: depends on ${other} ${range} instead of ${expected}`),
  ]
}

/** Problems of the packed manifests, in the order of publication. @param {readonly Manifest[]} manifests @param {string} expected */
export function packedProblems(manifests, expected) {
  const declared = manifests.find(({ name }) => name === 'varve')?.optionalDependencies
  const platforms = Object.keys(optionalDependencies(expected))
  return [
    ...manifests.flatMap((manifest) => manifestProblems(manifest, expected)),
    ...manifests.filter(({ repository }) => repository === undefined).map(({ name }) => `${name}: names no repository`),
    ...platforms.filter((name) => declared?.[name] === undefined).map((name) => `varve: does not declare ${name}`),
  ]
}

/** @param {string} text @param {string} expected @param {boolean} isDated */
export function changelogProblems(text, expected, isDated) {
  const heading = text.split('\n').find((line) => line.startsWith(`## [${expected}]`))
  if (heading === undefined) return [`CHANGELOG.md: there is no section for ${expected}`]
  if (isDated && !/ - \d{4}-\d{2}-\d{2}$/.test(heading)) return [`CHANGELOG.md: '${heading}' has no date`]
  return []
}
