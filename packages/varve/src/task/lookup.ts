/** Compares what is recorded of an id with what is asked and with the present: which variant holds, and why none does. */
import { digestOf, UNDEFINED_DIGEST } from './digest.ts'
import { MISSING } from './files.ts'
import type { Present } from './present.ts'
import { type Digests, sameDigests, type Variant } from './record.ts'

/** What a run asks for, hashed. */
export interface Asked {
  /** Key of the record. */
  readonly key: string
  readonly inputs: Digests
  /** Names. */
  readonly env: readonly string[]
  /** Recorded forms of the paths. */
  readonly files: readonly string[]
}

/** One thing in which a variant differs from the present. */
export interface Difference {
  readonly kind: 'input' | 'env' | 'file'
  /** Name of the input or variable, or path of the file relative to the root. */
  readonly name: string
  /** Digest in the entry; undefined where the entry does not have it: it was missing, not set or not asked for. */
  readonly before: string | undefined
  /** Digest now; undefined likewise. */
  readonly after: string | undefined
}

/** How a variant stands: it holds, holds with files whose stamp moved, or does not. */
export type Match = 'same' | 'moved' | 'changed'

/** Whether `variant` may be used. Stops at the first difference, cheapest comparisons first. */
export function match(variant: Variant, asked: Asked, present: Present): Match {
  if (!sameDigests(variant.inputs, asked.inputs)) return 'changed'
  for (let i = 0; i < variant.env.length; i += 2) if (variant.env[i + 1] !== present.env(variant.env[i] ?? '')) return 'changed'
  for (const name of asked.env) if (digestIn(variant.env, name) === undefined) return 'changed'
  for (const path of asked.files) if (!variant.files.some(([known]) => known === path)) return 'changed'
  for (let i = 0; i < variant.added.length; i += 2) if (variant.added[i + 1] !== present.added(variant.added[i] ?? '')) return 'changed'
  let found: Match = 'same'
  for (const file of variant.files) {
    const compared = present.files.compare(file)
    if (compared === 'changed') return 'changed'
    if (compared === 'moved') found = 'moved'
  }
  return found
}

/** Everything in which `variant` differs. Where `inputs` is undefined they are not known and not compared. */
export function differences(variant: Variant, asked: Omit<Asked, 'inputs'> & { inputs: Digests | undefined }, present: Present): Difference[] {
  const found: Difference[] = asked.inputs === undefined ? [] : differingInputs(variant.inputs, asked.inputs)
  const add = (kind: Difference['kind'], name: string, before: string | undefined, after: string | undefined): void => {
    if (before !== after) found.push({ kind, name, before: known(before), after: known(after) })
  }
  if (asked.inputs !== undefined) for (const name of namesIn(variant.added)) add('input', name, digestIn(variant.added, name), present.added(name))
  for (const name of new Set([...namesIn(variant.env), ...asked.env])) add('env', name, digestIn(variant.env, name), present.env(name))
  const recorded = new Map(variant.files.map((file) => [file[0], file]))
  for (const path of new Set([...recorded.keys(), ...asked.files])) {
    const file = recorded.get(path)
    if (file === undefined || present.files.compare(file) === 'changed') add('file', path, file?.[1], present.files.digestOf(path))
  }
  return found
}

/** The inputs in which two lists differ. */
export function differingInputs(before: Digests, after: Digests): Difference[] {
  const names = new Set([...namesIn(before), ...namesIn(after)])
  const all = [...names].map((name) => ({ kind: 'input' as const, name, before: digestIn(before, name), after: digestIn(after, name) }))
  return all.filter((one) => one.before !== one.after)
}

/** Names and digests of `inputs` in turn, sorted by name. */
export function digestsOf(inputs: Readonly<Record<string, unknown>>): Digests {
  const digests: string[] = []
  for (const name of Object.keys(inputs).sort()) digests.push(name, digestOf(inputs[name], name))
  return digests
}

/** The digest of that name, undefined where there is none. */
export function digestIn(digests: Digests, name: string): string | undefined {
  for (let i = 0; i < digests.length; i += 2) if (digests[i] === name) return digests[i + 1]
  return undefined
}

/** The names of a list of digests. */
export function namesIn(digests: Digests): string[] {
  return digests.filter((_, index) => index % 2 === 0)
}

/** A digest for a report: one that says that there is nothing is none. */
function known(digest: string | undefined): string | undefined {
  return digest === UNDEFINED_DIGEST || digest === MISSING ? undefined : digest
}
