/** What every run of a task depends on: its inputs, files and installed packages. */
import { VarveError } from '../errors.ts'
import { upward } from '../health/trust.ts'
import { digestOfFile } from '../inputs/digest.ts'
import { type Disk, digestNow, hostDisk, isPlugged, namesBelow } from '../inputs/input.ts'
import type { Root } from '../inputs/root.ts'
import { Comparison } from '../inputs/set.ts'
import { jsonOf } from '../values/json.ts'
import type { TaskOptions } from './options.ts'
import { PACKAGE_INPUT } from './names.ts'
import { type Digests, merged, sorted } from './record.ts'

/** Dependencies of every run. */
export interface SharedDependencies {
  readonly inputs: Digests
  /** Recorded forms of the paths. */
  readonly files: readonly string[]
}

/** Throws INVALID_ARGUMENT for an input that cannot be hashed, INVALID_OPTION for a package that is not installed. */
export function sharedOf(
  { inputs = {}, sharedFiles = [], packages = [] }: TaskOptions,
  root: Root,
): SharedDependencies {
  const present = new Comparison(hostDisk(), root)
  const ofPackages = packages.map((name) => [PACKAGE_INPUT + name, digestOfPackage(present.disk, root, name)] as const)
  return { inputs: merged(inputs, sorted(new Map(ofPackages))), files: sharedFiles.map((path) => root.relative(path)) }
}

/**
 * The digest of a package as code in the folder of `root` finds it: of its manifest and of where its link leads, because two copies of one
 * version may get different dependencies. It ends with the version. A package outside of `node_modules` is a link into a project, whose
 * sources count.
 */
function digestOfPackage(disk: Disk, root: Root, name: string): string {
  const { fs: files, paths } = disk
  const manifestIn = (folder: string): string => paths.join(folder, 'node_modules', name, 'package.json')
  const plugged = isPlugged() ? digestNow(disk, 'package', manifestIn(root.folder)) : 'missing'
  if (plugged !== 'missing') return plugged
  for (const folder of upward(root.folder, files, paths)) {
    const manifest = manifestIn(folder)
    if (digestNow(disk, 'type', manifest) !== 'file') continue
    const target = digestNow(disk, 'link', paths.dirname(manifest))
    const isInstalled = target.split(paths.sep).includes('node_modules')
    const decides = jsonOf({ target: root.relative(target), sources: isInstalled ? [] : contentsBelow(disk, target) })
    // The manifest comes first, so that the digest shows its version.
    return digestOfFile(manifest, Buffer.concat([files.readFileSync(manifest), Buffer.from(decides)]))
  }
  const message = `package '${name}' of option 'packages' is not installed in '${root.folder}' or above it; install it, or remove its name`
  throw new VarveError('INVALID_OPTION', message)
}

/** The names below a folder, and the digest of each file. */
function contentsBelow(disk: Disk, folder: string): readonly string[] {
  return [...namesBelow(disk, folder)].flatMap((name) => [
    name,
    digestNow(disk, 'content', disk.paths.join(folder, name.slice(1))),
  ])
}
