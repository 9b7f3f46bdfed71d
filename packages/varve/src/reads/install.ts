/** Installs the recorder, once per process: dormant wrappers that call the original unless code is recorded. */
import { loadedAddons } from './addons.ts'
import { installEnv, syncNamedImports } from './env.ts'
import { installFs } from './fs.ts'
import { installImports } from './imports.ts'
import { loadedModules } from './loaded.ts'
import { installModules } from './modules.ts'
import { installNetwork } from './network.ts'
import { installOpaque } from './opaque.ts'
import { measureClock } from '../inputs/stamp.ts'
import { hostDisk } from '../inputs/input.ts'
import { type Installation, installation, makeInstallation, removeInstallation, unrecordedNow } from './sink.ts'
import { StartUp } from './start-up.ts'

/**
 * Installs the recorder if there is none yet. From now on, reads count that are made before the first recorded work begins:
 * what a program reads while it starts decides what it does. Of what was loaded before, local CommonJS modules count.
 */
export function installReads(): Installation | undefined {
  const found = installation()
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
  if (disk !== undefined) unrecordedNow(() => measureClock(disk.fs, disk.paths.resolve()))
}
