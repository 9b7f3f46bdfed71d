// @ts-check
// TypeScript and JavaScript files import each other in one direction only, types and dynamic imports included.
import { posix } from 'node:path'
import { readImports } from './imports.mjs'

/** @typedef {import('./source.mjs').Source} Source */
/** @typedef {import('./source.mjs').Finding} Finding */

/** @param {readonly Source[]} sources @returns {Finding[]} one for each import that is part of a cycle */
export function checkCycles(sources) {
  const typescript = sources.filter(({ language }) => language === 'typescript')
  let arrows = typescript.flatMap(arrowsOf)
  // An arrow from a file that no file imports, or to a file that imports none, is in no cycle.
  for (let count = -1; count !== arrows.length;) {
    count = arrows.length
    const [importing, imported] = [new Set(arrows.map(({ path }) => path)), new Set(arrows.map(({ target }) => target))]
    arrows = arrows.filter(({ path, target }) => imported.has(path) && importing.has(target))
  }
  return arrows.map(({ path, line, target }) => ({
    path,
    line,
    message: `${target} imports this file, or files that do`,
  }))
}

/** @param {Source} source @returns {{ path: string, line: number, target: string }[]} */
function arrowsOf(source) {
  const { path } = source
  return readImports(source).map(({ from, line }) => ({ path, line, target: posix.join(posix.dirname(path), from) }))
}
