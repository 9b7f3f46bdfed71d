/**
 * Finds the addon of this machine. The manifest of this package decides where:
 *
 *   it declares `@varve/<platform>` in exactly its own version  -> in that package, as `npm install` brings it
 *   it does not                                                 -> in `native/`, as a checkout builds it
 *
 * Varve loads no other package, because one of the same name in a `node_modules` above could then run its code here.
 */
import type * as module from 'node:module'
import { VarveError } from '../errors.ts'
import { builtin } from '../host/builtin.ts'
import { libcName } from './libc.ts'

/** The fields of a package.json that are read. */
interface Manifest {
  readonly version: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type Require = ReturnType<typeof module.createRequire>

/**
 * The exports of the addon. Throws if there is none for this machine. If there should be one, because a package for this
 * platform is declared, throws ENGINE_UNAVAILABLE with the way to install it.
 */
export function requireAddon<Addon>(): Addon {
  const platform = platformName()
  const { createRequire } = builtin('node:module') ?? {}
  if (createRequire === undefined) throw new Error('this host has no node:module')
  const require = createRequire(import.meta.url)
  const manifest: Manifest = require('../../package.json')
  const name = `@varve/${platform}`
  return manifest.optionalDependencies?.[name] === manifest.version ? installed(require, name, manifest) : built(require, platform)
}

/** The addon of the package `name`. */
function installed<Addon>(require: Require, name: string, { version, optionalDependencies = {} }: Manifest): Addon {
  const found: Manifest | undefined = tryRequire(require, `${name}/package.json`)
  if (found === undefined) {
    const other = Object.keys(optionalDependencies).find((one) => tryRequire(require, `${one}/package.json`) !== undefined)
    throw new VarveError('ENGINE_UNAVAILABLE', other === undefined ? omitted(name) : foreign(name, other))
  }
  if (found.version !== version) {
    const fix = `run 'npm install varve@${version}', and remove overrides of '${name}'`
    throw new VarveError('ENGINE_UNAVAILABLE', `'${name}' has version ${found.version}, but varve ${version}; ${fix}`)
  }
  try {
    return require(name)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_DLOPEN_DISABLED') throw error
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    const fix = "run 'npm ci' to install it again; report this with the output of 'npx varve doctor' if it remains"
    throw new VarveError('ENGINE_UNAVAILABLE', `'${name}' does not load: ${why}; ${fix}`, { cause: error })
  }
}

function omitted(name: string): string {
  const why = `'${name}' is not installed: optional dependencies were omitted, or the lockfile was written on another platform`
  return `${why}; run 'npm install --include=optional'; if that changes nothing, delete node_modules and the lockfile first`
}

function foreign(name: string, other: string): string {
  const why = `'${name}' is not installed, but '${other}' is: node_modules was installed on another platform`
  return `${why}; run 'npm ci' on this one; for Docker, add node_modules to .dockerignore`
}

/** The addon in this package. */
function built<Addon>(require: Require, platform: string): Addon {
  const addon: Addon | undefined = tryRequire(require, `../../native/varve.${platform}.node`)
  if (addon === undefined) throw new Error(`this package has no addon for ${platform}`)
  return addon
}

/** The exports of a module; undefined if it is not there. */
function tryRequire<Exports>(require: Require, path: string): Exports | undefined {
  try {
    return require(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Name of the machine in file and package names: `linux-x64-gnu`, `darwin-arm64`. */
function platformName(): string {
  const { platform, arch } = process
  return platform === 'linux' ? `${platform}-${arch}-${libcName()}` : `${platform}-${arch}`
}
