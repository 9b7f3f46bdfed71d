/**
 * Finds the addon of this machine. `generated/release.js`, which becomes part of every bundle, decides where:
 *
 *   a release lists this platform  -> in the package `@varve/<platform>`, as `npm install` brings it, in exactly the release's version
 *   a checkout, not a release      -> in `native/`, as it builds it
 *
 * Node.js looks for the package from the file that runs, so a bundle, or an executable that contains one, finds it in the
 * `node_modules` beside it. Varve loads no other package, because one of the same name in a `node_modules` above could then run its code here,
 * and none that another user can replace (`host/installed.ts`).
 */
import type * as module from 'node:module'
import { release, type Release } from '../../generated/release.js'
import { VarveError } from '../errors.ts'
import { builtin } from '../host/builtin.ts'
import { codeFile, packagePath } from '../host/builtin.ts'
import { type InstalledPackage, packageAt } from '../host/installed.ts'
import { codeOf } from '../host/permission.ts'

/** Whether this code is part of the bundle of a tool. */
const isBundled: boolean = packagePath() === undefined

type Require = ReturnType<typeof module.createRequire>

/**
 * The exports of the addon. Throws if there is none for this machine. If there should be one, because the release has a package
 * for this platform, throws ENGINE_UNAVAILABLE with the way to install it.
 */
export function requireAddon<Addon>(): Addon {
  const platform = platformName()
  const { createRequire } = builtin('node:module') ?? {}
  if (createRequire === undefined) throw new Error('this host has no node:module')
  const require = createRequire(codeFile() ?? process.execPath)
  if (release === undefined) return built(require, platform)
  if (!release.platforms.includes(platform)) throw new Error(`varve has no addon for ${platform}`)
  return installed(require, `@varve/${platform}`, release)
}

/** The addon of the package `name`. */
function installed<Addon>(require: Require, name: string, { version, platforms }: Release): Addon {
  const found = packageOf(name)
  if (found === undefined) {
    const other = platforms.map((platform) => `@varve/${platform}`).find((one) => packageOf(one) !== undefined)
    throw new VarveError('ENGINE_UNAVAILABLE', other === undefined ? omitted(name) : foreign(name, other))
  }
  if (found.version !== version) {
    const fix = isBundled
      ? beside(name, version)
      : `run 'npm install varve@${version}', and remove overrides of '${name}'`
    throw new VarveError('ENGINE_UNAVAILABLE', `'${name}' has version ${found.version}, but varve ${version}; ${fix}`)
  }
  const file = fileOf(found)
  try {
    return require(file)
  } catch (error) {
    if (codeOf(error) === 'ERR_DLOPEN_DISABLED') throw error
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    const fix = "run 'npm ci' to install it again; report this with the output of 'npx varve doctor' if it remains"
    throw new VarveError('ENGINE_UNAVAILABLE', `'${name}' does not load: ${why}; ${fix}`, { cause: error })
  }
}

function omitted(name: string): string {
  if (isBundled)
    return `'${name}' is not installed beside the bundle that contains varve; ${beside(name, release?.version)}`
  const why = `'${name}' is not installed: optional dependencies were omitted, or the lockfile was written on another platform`
  return `${why}; run 'npm install --include=optional'; if that changes nothing, delete node_modules and the lockfile first`
}

function foreign(name: string, other: string): string {
  const why = `'${name}' is not installed, but '${other}' is: node_modules was installed on another platform`
  return `${why}; run 'npm ci' on this one; for Docker, add node_modules to .dockerignore`
}

/** What the author of a tool that contains Varve does. */
function beside(name: string, version: string | undefined): string {
  return `add '${name}' in version ${version} to the optional dependencies of the tool, or copy it into 'node_modules' beside the bundle`
}

/** A package beside this code; undefined if it is not there. */
function packageOf(name: string): InstalledPackage | undefined {
  return available(() => packageAt(name, codeFile() ?? process.execPath))
}

function fileOf(found: InstalledPackage): string {
  return available(() => found.file('varve.node'))
}

/** Runs a call, whose refusal means that there is no addon. */
function available<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw error instanceof VarveError ? new VarveError('ENGINE_UNAVAILABLE', error.message, { cause: error }) : error
  }
}

/** The addon that a checkout builds. */
function built<Addon>(require: Require, platform: string): Addon {
  const addon: Addon | undefined = tryRequire(require, `../../native/varve.${platform}.node`)
  if (addon === undefined) throw new Error(`this checkout has no addon for ${platform}`)
  return addon
}

/** The exports of a module; undefined if it is not there. */
function tryRequire<Exports>(require: Require, path: string): Exports | undefined {
  try {
    return require(path)
  } catch (error) {
    if (codeOf(error) === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Name of the machine in file and package names: `linux-x64-gnu`, `darwin-arm64`. */
function platformName(): string {
  const { platform, arch } = process
  return platform === 'linux' ? `${platform}-${arch}-${libcName()}` : `${platform}-${arch}`
}

// The C library of this process, on Linux. The program file names the loader of that library near its start; `process.report`,
// the usual way, costs 4 ms, which is more than opening a cache.

const HEAD_BYTES = 4096

function libcName(): 'gnu' | 'musl' {
  const head = programHead()
  if (head.includes('/ld-musl-')) return 'musl'
  if (head.includes('/ld-linux')) return 'gnu'
  const report = reported()
  const header: unknown =
    typeof report === 'object' && report !== null && 'header' in report ? report.header : undefined
  return typeof header === 'object' && header !== null && 'glibcVersionRuntime' in header ? 'gnu' : 'musl'
}

/** A host that refuses both ways is Deno, whose programs for Linux need glibc. */
function reported(): unknown {
  try {
    return process.report?.getReport()
  } catch {
    return { header: { glibcVersionRuntime: '' } }
  }
}

/** The first bytes of the running program, empty if they cannot be read. */
function programHead(): string {
  const files = builtin('node:fs')
  try {
    const file = files?.openSync(process.execPath, 'r')
    if (files === undefined || file === undefined) return ''
    try {
      const head = Buffer.alloc(HEAD_BYTES)
      return head.toString('latin1', 0, files.readSync(file, head, 0, HEAD_BYTES, 0))
    } finally {
      files.closeSync(file)
    }
  } catch {
    return ''
  }
}
