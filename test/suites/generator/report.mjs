// @ts-check
// A program whose builds differ, as text.
import { wordsOf } from './program.mjs'

/** @typedef {import('./program.mjs').Program} Program */

/** @param {Program} program @param {import('./run.mjs').Fault} fault */
export function textOfFault(program, { step, difference, expected, built, beside }) {
  const { tool, seed, format, hook, isParallel, collects, virtual, config, load, start, calls, declared, edits } =
    program
  const lines = [
    `WRONG ${tool} --seed ${seed}: ${difference.slice(0, 500)}`,
    ...(beside === undefined ? [] : [`  not alone, but in one process with seeds ${beside.join(', ')}`]),
    `  plugin.${format}, ${hook}${isParallel ? ', parallel' : ''}, collects: ${collects}, virtual: ${virtual}`,
    .../** @type {const} */ (['config', 'load', 'start']).flatMap((time) =>
      ({ config, load, start })[time].map((operation) => `  ${time}: ${wordsOf(operation)}`),
    ),
    ...Object.entries(calls).flatMap(([name, operations]) => [
      `  ${name}: ${operations.map(wordsOf).join('; ') || 'nothing'}${(declared[name] ?? []).map(([kind, path]) => `; reports ${kind} ${path}`).join('')}`,
    ]),
    ...edits.slice(0, Math.max(0, step - 1)).map((changes, index) => `  edit ${index + 2}: ${JSON.stringify(changes)}`),
    ...Object.keys({ ...expected.files, ...built.files })
      .filter((file) => expected.files[file] !== built.files[file])
      .flatMap((file) => [
        `  without ${file}: ${wordsIn(expected.files[file], built.files[file])}`,
        `  Varve   ${file}: ${wordsIn(built.files[file], expected.files[file])}`,
      ]),
  ]
  return lines.join('\n')
}

/** The lines that the other text does not have. @param {string | undefined} text @param {string | undefined} other */
function wordsIn(text, other) {
  if (text === undefined) return 'no such file'
  const lines = new Set((other ?? '').split('\n'))
  return text
    .split('\n')
    .filter((line) => !lines.has(line))
    .join(' | ')
    .slice(0, 800)
}
