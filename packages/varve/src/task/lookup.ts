/** Compares what is recorded of an id with what is asked and with the present: whether a variant holds. */
import { type Digests, digestIn, sameDigests } from './named.ts'
import type { Explain } from './options.ts'
import type { Present } from './present.ts'
import type { Variant } from './record.ts'

/** What a run asks for, hashed. */
export interface Asked {
  /** Key of the record. */
  readonly key: string
  readonly inputs: Digests
  /** Names. */
  readonly env: readonly string[]
  /** Recorded forms of the paths. */
  readonly files: readonly string[]
  /** The file that the run is about, if the caller named one. */
  readonly about: string | undefined
  /** Whether the work is given the content of that file. */
  readonly isGiven: boolean | undefined
  /** The caller's words for changed inputs. */
  readonly explain: Explain | undefined
}

/** How a variant stands: it holds, it holds and the stamps of its files moved, or it does not. */
export type Match = 'same' | 'moved' | 'changed'

/** Whether `variant` may be used. Stops at the first difference, cheap comparisons first. */
export function match(variant: Variant, asked: Asked, present: Present): Match {
  if (!sameDigests(variant.inputs, asked.inputs)) return 'changed'
  for (let i = 0; i < variant.env.length; i += 2)
    if (variant.env[i + 1] !== present.env(variant.env[i] ?? '')) return 'changed'
  for (const name of asked.env) if (digestIn(variant.env, name) === undefined) return 'changed'
  for (const path of asked.files) if (!variant.files.some(([recorded]) => recorded === path)) return 'changed'
  for (let i = 0; i < variant.added.length; i += 2)
    if (variant.added[i + 1] !== present.added(variant.added[i] ?? '')) return 'changed'
  let found: Match = 'same'
  for (const file of variant.files) {
    const compared = present.files.compare(file)
    if (compared === 'changed') return 'changed'
    if (compared === 'moved') found = 'moved'
  }
  return found
}
