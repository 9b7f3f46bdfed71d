/**
 * A hit skips the plugin. In a server, a plugin with hooks for hot updates needs the state that it would have kept of the file: Vue
 * compares a component with the one before. So the plugin is owed this run. It gets it when the server is idle, and before it runs for
 * another part of the file. If the file changes before, the plugin has no state of it, as of a file that it never processed.
 */
import { lookAt, stampOf } from '../host/files.ts'

interface Owed {
  /** Size, times and inode of the file that the run is for. */
  readonly stamp: string
  readonly run: () => unknown
}

/** The runs that one plugin is owed, by file. */
export class OwedRuns {
  readonly #owed: Map<string, Owed[]> = new Map()
  readonly #running: Map<string, Promise<void>> = new Map()

  /** Adds a run. Its result is not used. */
  add(file: string, run: () => unknown): void {
    const list = this.#owed.get(file) ?? []
    this.#owed.set(file, [...list, { stamp: stampOf(lookAt(file)), run }])
  }

  /** Resolves when nothing is owed for this file. */
  async settle(file: string): Promise<void> {
    const list = this.#owed.get(file)
    this.#owed.delete(file)
    if (list !== undefined) this.#running.set(file, runAll(file, list))
    await this.#running.get(file)
    this.#running.delete(file)
  }

  /** Runs what is owed, one file at a time, while `isIdle`. */
  async settleAll(isIdle: () => boolean): Promise<void> {
    for (const file of this.#owed.keys()) {
      if (!isIdle()) return
      await this.settle(file)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Drops what is owed for a file that changed, or for all files. */
  drop(file?: string): void {
    if (file === undefined) this.#owed.clear()
    else this.#owed.delete(file)
  }
}

/** The plugin context of an owed run, whose effects on the tool the hit has repeated. */
export function mutedContext(original: object): object {
  return new Proxy(original, {
    get(target, name) {
      if (name === 'addWatchFile' || name === 'emitFile' || name === 'warn' || name === 'info' || name === 'debug')
        return () => ''
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function runAll(file: string, list: readonly Owed[]): Promise<void> {
  for (const { stamp, run } of list) {
    if (stamp === '' || stamp !== stampOf(lookAt(file))) return
    try {
      await run()
    } catch {
      // The plugin has the state that it keeps of a module that it cannot process.
    }
  }
}
