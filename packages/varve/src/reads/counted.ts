/**
 * Which reads of paths count. Left out is what decides nothing or changes in every run:
 *
 *   paths      kernel files (`/proc`, `/sys`, `/dev`), the system's folder for temporary files unless the project is in it,
 *              hidden folders of `node_modules`, where tools keep caches, the folder of the cache itself, whether the
 *              folders above it exist, which the cache makes, and names with a NUL byte, which virtual modules have
 *   packages   a file of an installed package counts as the package.json of that package. A package that is a link into the
 *              project counts file by file. The archives of Yarn Plug'n'Play do not count, only the packages in them
 */
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import type { Disk, ReadKind } from '../inputs/input.ts'
import { isArchive, isPlugged } from '../inputs/plugged.ts'

const KERNEL = /^\/(?:proc|sys|dev)(?:\/|$)/

/** Decides about paths for one project. */
export class CountedPaths {
  readonly #disk: Disk
  readonly #ignored: Set<string>
  /** The real folder of each package that is a link into the project; undefined for installed ones. */
  readonly #links: Map<string, string | undefined> = new Map()
  /** Whether the directory of each installed package is a link. */
  readonly #packageLinks: Map<string, boolean> = new Map()

  /** `root`: the project's folder. */
  constructor(disk: Disk, root: string) {
    this.#disk = disk
    const { paths } = disk
    const temporary = builtin('node:os')?.tmpdir()
    this.#ignored = new Set(temporary === undefined || isBelow(paths, root, temporary) ? [] : [temporary])
  }

  /** Files in this folder, absolute, do not count. */
  ignore(folder: string): void {
    this.#ignored.add(folder)
  }

  /** What to record of a read; undefined if it does not count. */
  decide(kind: ReadKind, path: string): readonly [kind: ReadKind, path: string] | undefined {
    const { paths } = this.#disk
    if (path.includes('\0') || KERNEL.test(path) || isArchive(path)) return undefined
    if (
      [...this.#ignored].some(
        (folder) => isBelow(paths, path, folder) || (kind === 'type' && isBelow(paths, folder, path)),
      )
    )
      return undefined
    const folder = `${paths.sep}node_modules${paths.sep}`
    const at = path.lastIndexOf(folder)
    if (at === -1) return [kind, path]
    const [first = '', second = '', ...rest] = path.slice(at + folder.length).split(paths.sep)
    if (first.startsWith('.') || first === '') return undefined
    const isScoped = first.startsWith('@')
    if (isScoped && second === '') return [kind, path]
    const own = path.slice(0, at + folder.length) + (isScoped ? paths.join(first, second) : first)
    if (kind === 'link' && path === own) return [kind, path]
    const real = this.#linkOf(own)
    if (real === undefined) return [isPlugged() ? 'package' : 'content', paths.join(own, 'package.json')]
    return this.decide(kind, paths.join(real, ...(isScoped ? rest : [second, ...rest])))
  }

  /**
   * The directory of the installed package with this package.json, if it is a link. Where it leads is an input as well: two copies of
   * one version may have been installed with other dependencies (pnpm).
   */
  linkedPackage(manifest: string): string | undefined {
    const { dirname, sep } = this.#disk.paths
    const folder = dirname(manifest)
    return manifest.includes(`${sep}node_modules${sep}`) && this.#isLink(folder) ? folder : undefined
  }

  /** Whether a file at this path is one of the project's: no cache, temporary file or part of a package. */
  keeps(path: string): boolean {
    const isCache = path.split(this.#disk.paths.sep).some((name) => /^\..*cache$/i.test(name))
    return !isCache && this.decide('content', path)?.[1] === path
  }

  /** Whether a read counts as it is. */
  has(read: { readonly kind: ReadKind; readonly path: string } | undefined): boolean {
    return read !== undefined && this.decide(read.kind, read.path)?.[1] === read.path
  }

  #isLink(folder: string): boolean {
    const known = this.#packageLinks.get(folder)
    if (known !== undefined) return known
    const isLink = this.#disk.fs.lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true
    this.#packageLinks.set(folder, isLink)
    return isLink
  }

  #linkOf(folder: string): string | undefined {
    if (this.#links.has(folder)) return this.#links.get(folder)
    let real: string | undefined
    try {
      real = this.#disk.fs.realpathSync(folder)
    } catch {
      real = undefined
    }
    const isInstalled =
      real === undefined || real.includes(`${this.#disk.paths.sep}node_modules${this.#disk.paths.sep}`)
    const link = isInstalled ? undefined : real
    this.#links.set(folder, link)
    return link
  }
}

/** Whether `path` is `folder` or below it. */
export function isBelow(paths: typeof nodePath, path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(paths.sep) ? folder : `${folder}${paths.sep}`)
}
