// @ts-check
// Makes a program that fails smaller, as long as it fails.

/** @typedef {import('./program.mjs').Program} Program */
/** @typedef {import('./run.mjs').Fault} Fault */

/** How often smaller programs are tried, and how many at once. */
const ROUNDS_MAX = 12
const TRIES = 8

/**
 * @param {Program} program
 * @param {Fault} fault
 * @param {import('./run.mjs').Lane} lane
 * @returns {Promise<{ program: Program, fault: Fault }>}
 */
export async function shrink(program, fault, lane) {
  /** @type {{ program: Program, fault: Fault }} */
  let smallest = { program: { ...program, edits: program.edits.slice(0, Math.max(0, fault.step - 1)) }, fault }
  let candidates = smallerThan(smallest.program)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const tried = take(candidates, TRIES)
    if (tried.length === 0) break
    const verdicts = await verdictsOf(tried, lane)
    const at = verdicts.findIndex((verdict) => verdict?.fault !== undefined && verdict.fault.beside === undefined)
    const simpler = tried[at]
    const failed = verdicts[at]?.fault
    if (simpler === undefined || failed === undefined) continue
    smallest = { program: simpler, fault: failed }
    candidates = smallerThan(simpler)
  }
  return smallest
}

/**
 * Undefined for programs with edits of files that an edit which is left out would have made.
 * @param {readonly Program[]} programs
 * @param {import('./run.mjs').Lane} lane
 * @returns {Promise<readonly (import('./run.mjs').Verdict | undefined)[]>}
 */
async function verdictsOf(programs, lane) {
  try {
    return await lane.runAll(programs)
  } catch {
    /** @type {(import('./run.mjs').Verdict | undefined)[]} */
    const verdicts = []
    for (const program of programs) verdicts.push(await lane.run(program).catch(() => undefined))
    return verdicts
  }
}

/** @template T @param {Iterator<T>} values @param {number} count */
function take(values, count) {
  /** @type {T[]} */
  const taken = []
  for (let next = values.next(); next.done !== true; next = values.next()) {
    taken.push(next.value)
    if (taken.length === count) break
  }
  return taken
}

/** Programs without one part of it. @param {Program} program @returns {Generator<Program>} */
function* smallerThan(program) {
  const { edits, calls, declared, modules } = program
  for (const index of edits.keys()) yield { ...program, edits: edits.toSpliced(index, 1) }
  for (const [index, changes] of edits.entries())
    if (changes.length > 1)
      for (const one of changes.keys())
        yield { ...program, edits: edits.toSpliced(index, 1, changes.toSpliced(one, 1)) }
  for (const time of /** @type {const} */ (['config', 'load', 'start']))
    if (program[time].length > 0) yield { ...program, [time]: [] }
  if (modules.length > 1)
    for (const name of modules) yield { ...program, modules: modules.filter((one) => one !== name) }
  for (const name of modules)
    for (const index of (calls[name] ?? []).keys())
      yield { ...program, calls: { ...calls, [name]: calls[name]?.toSpliced(index, 1) ?? [] } }
  for (const name of modules)
    if ((declared[name] ?? []).length > 0) yield { ...program, declared: { ...declared, [name]: [] } }
  if (program.collects !== 'none') yield { ...program, collects: 'none' }
  if (program.virtual !== 'none') yield { ...program, virtual: 'none' }
  if (program.format === 'mjs') yield { ...program, format: 'cjs' }
  if (program.isParallel) yield { ...program, isParallel: false }
  if (program.hook === 'load') yield { ...program, hook: 'transform' }
}
