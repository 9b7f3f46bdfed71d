/**
 * Finds the addon of this machine: the file in this package, otherwise the package `@varve/<platform>`. Varve loads that
 * package only if this one depends on it in exactly its own version: a package of the same name in a `node_modules` above
 * could otherwise run its code here.
 */
import { builtin } from '../host/builtin.ts'
import { libcName } from './libc.ts'

/** The fields of a package.json that are read. */
interface Manifest {
  readonly version: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The exports of the addon. Throws if there is none for this machine. */
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
