/**
 * Which files belong to installed packages, and so change only with the version of their package, as one build finds them. All others are
 * sources:
 *
 *   node_modules/lib/a.js     installed, unless `snapshot` of webpack names its package as not managed
 *   node_modules/ui/a.js      a source if the package is a link into the project, as in workspaces; links of pnpm lead to installed packages
 */
import { realpathSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { isPlugged, unrecordedNow } from 'varve/reads'
import type { Compiler } from 'webpack'
import { isInstalled, manifestOf } from '../build/modules.ts'

type SnapshotOptions = Compiler['options']['snapshot']

/** The packages of one build. */
export class Packages {
  readonly #options: SnapshotOptions
  /** Where links lead, by the directory of the package; undefined for installed packages. */
  readonly #targets: Map<string, string | undefined> = new Map()

  constructor(options: SnapshotOptions) {
    this.#options = options
  }

  /** Whether a file belongs to an installed package, or to a tool that keeps files beside the packages. */
  isInstalled(path: string): boolean {
    if (!isInstalled(path)) return false
    if (isPlugged() || manifestOf(path) === undefined) return true
    const { managedPaths = [], unmanagedPaths = [] } = this.#options
    return (
      managedPaths.some((one) => isDefault(one) || isMatch(one, path)) &&
      !unmanagedPaths.some((one) => isMatch(one, path))
    )
  }

  /** The path of a source that is read through a link among the packages; any other path as it is. */
  sourceOf(path: string): string {
    const manifest = isInstalled(path) ? manifestOf(path) : undefined
    if (manifest === undefined) return path
    const folder = dirname(manifest)
    const target = this.#targetOf(folder)
    return target === undefined ? path : target + path.slice(folder.length)
  }

  #targetOf(folder: string): string | undefined {
    if (this.#targets.has(folder)) return this.#targets.get(folder)
    const real = unrecordedNow(() => realOf(folder))
    const target = isInstalled(`${real}/`) ? undefined : real
    this.#targets.set(folder, target)
    return target
  }
}

/** webpack's default is the `node_modules` that webpack itself is in. Packages that a workspace has beside it are no less installed. */
function isDefault(pattern: string | RegExp): boolean {
  return typeof pattern === 'string' && /[\\/]node_modules[\\/]$/.test(pattern)
}

function isMatch(pattern: string | RegExp, path: string): boolean {
  return typeof pattern === 'string'
    ? path.startsWith(/[\\/]$/.test(pattern) ? pattern : `${pattern}${sep}`)
    : pattern.test(path)
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder // missing
  }
}
