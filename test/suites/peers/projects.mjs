// @ts-check
// The tools and their major versions, or the minor ones of a tool below 1.0, in which a project is built.
import { buildBundle, buildMetro, buildParcel, buildWebpack, runJest, useStore } from './build.mjs'

/**
 * @typedef {object} Peer
 * @property {string} tool as in `peerDependencies` of `@varve/plugins`
 * @property {string} range of its version
 * @property {(project: string) => Promise<number>} build without a cache, cold and warm; resolves to the results from the cache
 */

/** @param {string} tool @param {readonly string[]} ranges @param {Peer['build']} build @returns {Peer[]} */
const each = (tool, ranges, build) => ranges.map((range) => ({ tool, range, build }))

/** @type {readonly Peer[]} */
export const PEERS = [
  ...each('vite', ['^5', '^6', '^7', '^8'], (project) => buildBundle(project, 'vite')),
  ...each('rollup', ['^3', '^4'], (project) => buildBundle(project, 'rollup')),
  ...each('rolldown', ['^1'], (project) => buildBundle(project, 'rolldown')),
  ...each('esbuild', ['~0.21', '~0.25', '~0.28'], (project) => buildBundle(project, 'esbuild')),
  ...each('webpack', ['~5.90', '^5'], buildWebpack),
  ...each('@rspack/core', ['^1', '^2'], (project) => buildBundle(project, 'rspack')),
  ...each('keyv', ['^4', '^5', '^6'], (project) => useStore(project, 'keyv')),
  ...each('unstorage', ['^1'], (project) => useStore(project, 'unstorage')),
  ...each('metro', ['~0.80', '~0.83'], buildMetro),
  ...each('parcel', ['^2'], buildParcel),
  ...each('jest', ['^29', '^30'], runJest),
]
