/**
 * Begins and ends the builds of a cache with those of a compiler. A compiler that watches skips its hook `done` if a file changes while
 * it builds, and calls that hook twice for a build with an additional pass.
 */
import type { Build, LoaderCache } from './cache.ts'

interface Hook {
  tapPromise(name: string, run: () => Promise<void>): void
}

/** The public part of the compiler of webpack and Rspack that decides when builds begin and end. */
export interface BuildingCompiler {
  readonly watchMode: boolean
  readonly hooks: {
    readonly beforeRun: Hook
    readonly watchRun: Hook
    readonly done: Hook
    readonly failed: { tap(name: string, run: () => void): void }
  }
}

/** Follows the builds of `compiler`; `isBuilding`: a build has begun already. */
export function followBuilds(
  name: string,
  compiler: BuildingCompiler,
  cache: LoaderCache,
  build: Build,
  isBuilding = false,
): void {
  let isOpen = isBuilding
  if (isOpen) cache.begin(build)
  const end = async (isWatching: boolean): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    await cache.end(isWatching)
  }
  const begin = async (): Promise<void> => {
    await end(true)
    isOpen = true
    cache.begin(build)
  }
  const { beforeRun, watchRun, done, failed } = compiler.hooks
  beforeRun.tapPromise(name, begin)
  watchRun.tapPromise(name, begin)
  done.tapPromise(name, () => end(compiler.watchMode))
  failed.tap(name, () => void end(compiler.watchMode))
}
