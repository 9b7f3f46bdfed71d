// @ts-check
// The house rules that no other tool has (tidy/rules.mjs): headers, and the dependencies between crates, rooms and packages. oxlint finds files
// that import each other, and clippy `unsafe` without a reason. Prints one line per finding.
import { checkCrate } from './tidy/crates.mjs'
import { checkImports } from './tidy/imports.mjs'
import { checkFloors } from './tidy/floors.mjs'
import { isMain, root } from './common/root.mjs'
import { readSources } from './tidy/source.mjs'

/** @param {string} folder root of the repository @returns {import('./tidy/source.mjs').Finding[]} */
export function findUntidy(folder) {
  const sources = readSources(folder)
  const findings = sources.flatMap((source) => [
    ...checkHeader(source),
    ...checkCrate(source),
    ...checkImports(source, folder),
  ])
  return [...findings, ...checkFloors(sources)].toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
}

/**
 * Every source begins with a comment that describes it.
 * @param {import('./tidy/source.mjs').Source} source
 * @returns {import('./tidy/source.mjs').Finding[]}
 */
function checkHeader({ path, text, language }) {
  if (language === 'other') return []
  const lines = text.split('\n').filter((line) => !/^#!\/|^\/\/ @ts-check$|^$/.test(line))
  const isHeader = language === 'rust' ? /^\/\/!/ : /^(?:\/\*\*|\/\/)/
  if (isHeader.test(lines[0] ?? '')) return []
  const wanted = language === 'rust' ? 'a //! comment' : 'a comment'
  return [{ path, line: 1, message: `begins without ${wanted} that describes the file` }]
}

if (isMain(import.meta)) {
  const findings = findUntidy(root)
  for (const { path, line, message } of findings) process.stdout.write(`${path}:${line}: ${message}\n`)
  if (findings.length > 0) process.exitCode = 1
}
