/**
 * Finds the addon of this machine: the file in this package, else the package `@varve/<platform>`. That one counts only if
 * this package names it as a dependency of exactly its own version: any other package of a name that happens to be found in
 * a `node_modules` on the way up could run its code here.
 */
import { builtin } from '../host/builtin.ts'
import { libcName } from './libc.ts'

/** As much of a package.json as is looked at. */
interface Manifest {
  readonly version: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** What the addon exports. Throws where there is none for this machine. */
export function requireAddon<Addon>(): Addon {
  const platform = platformName()
  const { createRequire } = builtin('node:module') ?? {}
  if (createRequire === undefined) throw new Error('this host has no node:module')
  const require = createRequire(import.meta.url)
  try {
    return require(`../../native/varve.${platform}.node`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')) throw error
  }
  const name = `@varve/${platform}`
  const { version, optionalDependencies = {} }: Manifest = require('../../package.json')
  if (optionalDependencies[name] !== version) throw new Error(`this package has no addon for ${platform}`)
  const found: Manifest = require(`${name}/package.json`)
  if (found.version === version) return require(name)
  throw new Error(`'${name}' has version ${found.version}, but varve ${version}; install both in one version`)
}

/** Name of the machine in file and package names: `linux-x64-gnu`, `darwin-arm64`. */
function platformName(): string {
  const { platform, arch } = process
  return platform === 'linux' ? `${platform}-${arch}-${libcName()}` : `${platform}-${arch}`
}
