/** Modules that work loads, with what these have loaded before: a module that is loaded already brings no reads of that. */
import { importsOf } from './loaded.ts'
import type { Disk, ReadKind } from './kinds.ts'
import { Observed } from './observed.ts'
import { installation, type Noted } from './sink.ts'

/** A look at what is read. Code is what it was when the process loaded it, whatever is in its file now. */
export function lookedAt(disk: Disk, kind: ReadKind, path: string): Noted {
  return (kind === 'module' ? installation()?.modules.get(path) : undefined) ?? new Observed(disk, kind, path)
}

/** The modules of one scope. */
export class FollowedModules {
  readonly #paths: Set<string> = new Set()

  /** Adds a module. Returns the modules below it that are new. */
  follow(path: string): readonly string[] {
    if (this.#paths.has(path)) return []
    this.#paths.add(path)
    return this.#below([path])
  }

  /** What modules have loaded since they were added, such as those of two scopes that import one module at the same time. */
  followAll(): readonly string[] {
    return this.#below([...this.#paths])
  }

  #below(pending: string[]): readonly string[] {
    const found: string[] = []
    for (const path of pending) {
      for (const imported of importsOf(path)) {
        if (this.#paths.has(imported)) continue
        this.#paths.add(imported)
        pending.push(imported)
        found.push(imported)
      }
    }
    return found
  }
}
