// @ts-check
// The house rules that no other tool has (tidy/rules.mjs): headers, places of `unsafe`, and the dependencies between crates, rooms,
// packages and files. Prints one line per finding. It needs no dependency and no parser.
import { checkCrate } from './tidy/crates.mjs'
import { checkCycles } from './tidy/cycles.mjs'
import { checkImports } from './tidy/imports.mjs'
import { checkUnsafe } from './tidy/unsafe.mjs'
import { checkFloors } from './tidy/floors.mjs'
import { isMain, root } from './common/root.mjs'
import { checkHeader } from './tidy/header.mjs'
import { readSources } from './tidy/source.mjs'

/** @param {string} folder root of the repository @returns {import('./tidy/source.mjs').Finding[]} */
export function findUntidy(folder) {
  const sources = readSources(folder)
  const findings = sources.flatMap((source) => [
    ...checkHeader(source),
    ...checkUnsafe(source),
    ...checkCrate(source),
    ...checkImports(source, folder),
  ])
  const all = [...findings, ...checkFloors(sources), ...checkCycles(sources)]
  return all.toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
}

if (isMain(import.meta)) {
  const findings = findUntidy(root)
  for (const { path, line, message } of findings) process.stdout.write(`${path}:${line}: ${message}\n`)
  if (findings.length > 0) process.exitCode = 1
}
