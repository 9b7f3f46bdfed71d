/** Installs the recorder, once per process: dormant wrappers that call the original unless code is recorded. */
import { loadedAddons } from './addons.ts'
import { installEnv, syncNamedImports } from './env.ts'
import { installFs } from './fs.ts'
import { installImports, installModules } from './modules.ts'
import { forEachLoaded, isInPackage, loadedModules, lookedAt } from './resolution.ts'
import { installNetwork, installOpaque } from './opaque.ts'
import { entryAt, lookAt, measureClock } from '../inputs/stamp.ts'
import { type Disk, READ_KINDS, type ReadKind, hostDisk, isOfFolder } from '../inputs/input.ts'
import { type Noted, Observed } from '../inputs/observed.ts'
import {
  type Ambient,
  type Installation,
  type Opaque,
  isOutputFolder,
  sharedInstallation,
  makeInstallation,
  removeInstallation,
} from './sink.ts'
import { freezeAround } from './counted.ts'

/**
 * Installs the recorder if there is none yet. From now on, reads count that are made before the first recorded work begins:
 * what a program reads while it starts decides what it does. Of what was loaded before, local CommonJS modules count.
 */
export function installReads(): Installation | undefined {
  const found = sharedInstallation()
  if (found !== undefined) return found
  const made = makeInstallation()
  if (made === undefined) return undefined
  try {
    installFs(made)
    installEnv(made)
    installOpaque(made)
    installNetwork(made)
    installModules(made)
    installImports(made)
    syncNamedImports()
    measureClockHere()
    made.ambient = new StartUp(loadedModules(), loadedAddons(made))
    return made
  } catch {
    // A host that forbids one of these: no results are stored, and everything works as before.
    uninstallReads()
    return undefined
  }
}

/** Takes everything back: `node:fs`, `process.env` and the rest are what they were. */
export function uninstallReads(): void {
  removeInstallation()
  syncNamedImports()
}

/** The project is most often on the file system of the working directory. Tasks measure that of their root again. */
function measureClockHere(): void {
  const disk = hostDisk()
  if (disk !== undefined) measureClock(disk.fs, disk.paths.resolve())
}

/**
 * What a program reads outside of recorded work: its configuration, mostly. It counts for all recorded work that begins
 * later. Of an installed package only the manifest that a request looked for counts, there or missing, and where its link leads. Left out are
 * variables, processes, workers and the network: what the program makes of those is seen only if it does so inside of recorded work.
 *
 * A file that the program wrote is its output, not its configuration: what it reads of it afterwards does not count, nor that
 * it was missing before. The output of one build would otherwise decide the next one of the same process. Programs empty the
 * folder of their output, and look whether it exists and list it for that: names and types count as they are when work begins,
 * which is what the next run can find again. A content that the program read and that has changed since is in its memory only:
 * `ReadScope` refuses.
 */

/** The manifest of a package that the project may install, and not one inside of another package. */
const MANIFEST =
  /^(?!.*[\\/]node_modules[\\/].*[\\/]node_modules[\\/]).*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+[\\/]package\.json$/

/** More paths than any configuration reads; later ones are not noted, and recorded work is not stored. */
const PATHS_MAX = 20_000

/** The reads of a program outside of recorded work. */
export class StartUp implements Ambient {
  readonly #reads: Map<string, Noted> = new Map()
  readonly hidden: Map<string, Opaque> = new Map()
  readonly consumed: Set<string> = new Set()
  /** Files that the program wrote. */
  readonly #written: Set<string> = new Set()
  /** Those written since the last look at what they left. */
  #unseen: Set<string> = new Set()
  /** The keys of reads that found one of those missing, and its path. */
  readonly #missing: Map<string, string> = new Map()
  scopes = 0
  isTooLong = false

  /** `loaded`: paths of modules that were loaded before the recorder was installed; `addons`: those that any work may call. */
  constructor(loaded: readonly string[], addons: readonly Opaque[]) {
    for (const path of loaded) if (!path.endsWith('.node')) this.read('module', path)
    for (const addon of addons) this.opaque(addon)
  }

  get reads(): ReadonlyMap<string, Noted> {
    const disk = hostDisk()
    if (disk !== undefined && this.#unseen.size > 0) this.#lookAgain(disk)
    return this.#reads
  }

  /**
   * Looks again at the names and types that the program read of what it removed since, and of the folders around. Forgets the reads
   * that found a path missing which the program has made since.
   */
  #lookAgain(disk: Disk): void {
    const removed = new Set([...this.#unseen].filter((path) => lookAt(disk.fs, path) === 'missing'))
    for (const [key, path] of this.#missing) if (!removed.has(path)) this.#reads.delete(key)
    this.#missing.clear()
    this.#unseen = new Set()
    const emptied = new Set([...removed].map((path) => disk.paths.dirname(path)))
    for (const [key, read] of this.#reads) {
      const { kind, path } = read
      if (kind === 'content' && isIn(removed, path, disk) && read.hasChanged(disk)) this.consumed.add(path)
      if (kind === 'content' || kind === 'module' || !(emptied.has(path) || isIn(removed, path, disk))) continue
      const now = Observed.settled(disk, kind, path)
      now.freeze(disk)
      this.#reads.set(key, now)
    }
  }

  read(kind: ReadKind, path: string): void {
    if (kind === 'module') forEachLoaded(path, (module) => this.#note(kind, module))
    else this.#note(kind, path)
  }

  /** Returns whether the read is new. */
  #note(kind: ReadKind, path: string): boolean {
    const key = `${kind} ${path}`
    if (this.scopes > 0 || this.#reads.has(key)) return false
    if (isInPackage(path) && !MANIFEST.test(path)) return false
    this.#noteLink(path)
    if ((this.#written.has(path) || isOutputFolder(path)) && !isOfFolder(kind)) return false
    if (this.#reads.size >= PATHS_MAX) {
      this.isTooLong = true
      return false
    }
    const disk = hostDisk()
    if (disk !== undefined) this.#reads.set(key, lookedAt(disk, kind, path))
    return true
  }

  /** Where the link of an installed package leads: another copy of one version may have other dependencies (pnpm). */
  #noteLink(manifest: string): void {
    const disk = MANIFEST.test(manifest) ? hostDisk() : undefined
    const folder = disk?.paths.dirname(manifest) ?? ''
    const key = `link ${folder}`
    if (disk === undefined || this.#reads.has(key)) return
    if (entryAt(disk.fs, folder)?.isSymbolicLink() === true)
      this.#reads.set(key, Observed.settled(disk, 'link', folder))
  }

  wrote(path: string): void {
    const disk = hostDisk()
    if (disk === undefined) return
    if (!this.#written.has(path) && lookAt(disk.fs, path) === 'missing') this.#noteMissing(path, disk)
    freezeAround(this.#reads, disk, path)
    this.#written.add(path)
    this.#unseen.add(path)
  }

  /** Notes the reads that found a path missing, as it still is. Others may have removed what one has found. */
  #noteMissing(path: string, disk: Disk): void {
    for (const kind of READ_KINDS) {
      const key = `${kind} ${path}`
      if (!isOfFolder(kind) && this.#reads.get(key)?.hasChanged(disk) === false) this.#missing.set(key, path)
    }
  }

  variable(): void {}

  variables(): void {}

  changedVariable(): void {}

  opaque(event: Opaque): void {
    if (event.kind === 'addon' || event.kind === 'database' || event.kind === 'wasi') this.hidden.set(event.what, event)
  }
}

/** Whether a path is one of these or below one. */
function isIn(folders: ReadonlySet<string>, path: string, disk: Disk): boolean {
  const above = disk.paths.dirname(path)
  return folders.has(path) || (above !== path && isIn(folders, above, disk))
}
