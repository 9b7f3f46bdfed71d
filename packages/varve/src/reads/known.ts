/**
 * Packages with native code, of which the recorder sees the start and not the reads. The one list: `test/reads/known.test.ts` runs each
 * package. Any other process, worker thread or addon makes the results of a scope uncacheable, unless the caller declares `files`.
 *
 * A package is known if what it is called with decides its results, or if it reports what it reads. Its entry has the versions for
 * which that holds: from the oldest that a supported bundler brings to the next major version after the one that the test runs.
 * Versions are those of the package that has the native file, such as `@esbuild/linux-x64`.
 */
import { builtin } from '../host/builtin.ts'
import { hostDisk } from '../inputs/input.ts'
import type { Opaque } from './sink.ts'

/** Packages by name, the versions that are known (from, below), and the reason. */
interface Known {
  readonly name: RegExp
  readonly from: string
  readonly below: string
  readonly why: string
  /** The only scopes for which the reason holds: names of plugins. */
  readonly scopes?: readonly string[]
}

const KNOWN: readonly Known[] = [
  { name: /^(?:@esbuild\/[\w-]+|esbuild)$/, from: '0.21.0', below: '1.0.0', why: '`transform` reads no files' },
  {
    name: /^@rolldown\/binding-[\w-]+$/,
    from: '1.0.0',
    below: '2.0.0',
    why: 'plugins get only its parser; a build reports the files that it loads',
  },
  { name: /^@rollup\/rollup-[\w-]+$/, from: '4.0.0', below: '5.0.0', why: 'the native code is a parser of given code' },
  { name: /^@rspack\/binding-[\w-]+$/, from: '1.0.0', below: '3.0.0', why: 'a build reports the files that it loads' },
  { name: /^lightningcss-[\w-]+$/, from: '1.20.0', below: '2.0.0', why: '`transform` reads no files' },
  {
    name: /^@oxc-(?:parser|transform|minify)\/binding-[\w-]+$/,
    from: '0.50.0',
    below: '1.0.0',
    why: 'they parse, transform and minify given code',
  },
  {
    name: /^@swc\/core-[\w-]+$/,
    from: '1.3.0',
    below: '2.0.0',
    why: 'the plugin passes all options itself, with `swcrc: false` and `configFile: false`',
    scopes: ['vite:react-swc'],
  },
]

/** Packages that read files themselves. They are not known: no option or result shows all files that decide. */
const READERS: readonly { readonly name: RegExp; readonly reads: string }[] = [
  {
    name: /^@swc\/core-[\w-]+$/,
    reads: "swc itself reads '.swcrc', the configuration of browserslist and the files that 'jsc.paths' leads to",
  },
  {
    name: /^(?:sass-embedded-[\w-]+|sync-child-process)$/,
    reads: 'Sass itself reads imported files, and looks for files of other names that would take their place',
  },
]

const DID: Readonly<Record<Opaque['kind'], string>> = {
  process: 'started the process',
  worker: 'started the worker thread',
  addon: 'loaded the native addon',
  database: 'opened the database',
  wasi: 'gave folders to the WASI program of',
  network: 'connected to the network:',
}

/** The end of the name of a package with the binary for a platform, after the name of the package that uses it. */
const PLATFORM = /^-(?:linux|darwin|win32|freebsd|openbsd|android|openharmony|sunos|aix|wasm32)(?:-|$)/

/** What may read files unseen after this event, as the end of a sentence; undefined if it is known in this scope, or trusted. */
export function hiddenReads(event: Opaque, scope: string, trust: readonly string[] = []): string | undefined {
  const { kind, what, isCall = false } = event
  if (isVarve(what)) return undefined
  if (packagesOf(event).some((name) => isTrusted(name, trust))) return undefined
  const found = packageOf(what)
  const isKnown = KNOWN.some(
    (known) => found !== undefined && known.name.test(found.name) && isIn(known, found.folder, scope),
  )
  if (isKnown) return undefined
  const reads =
    READERS.find(({ name }) => name.test(found?.name ?? ''))?.reads ??
    (kind === 'network' ? 'whose answers cannot be compared later' : 'whose reads cannot be seen')
  return `${isCall ? 'called the native addon' : DID[kind]} '${what}', ${reads}`
}

/** The package to trust if the reads of an event decide nothing; undefined if it has none. */
export function packageToTrust(event: Opaque): string | undefined {
  return packagesOf(event).at(-1)
}

/** The package of what cannot be seen into, and that of the module that loaded it. */
function packagesOf({ what, by = '' }: Opaque): string[] {
  return [what, by].flatMap((path) => packageOf(path)?.name ?? [])
}

function isTrusted(name: string, trust: readonly string[]): boolean {
  return trust.some((one) => name === one || (name.startsWith(one) && PLATFORM.test(name.slice(one.length))))
}

/** The engine itself, in whatever package it lies: `varve.node` as published, `varve.<platform>.node` in a checkout. */
function isVarve(what: string): boolean {
  return /[\\/]varve(?:\.[\w-]+)?\.node$/.test(what)
}

function isIn({ from, below, scopes }: Known, folder: string, scope: string): boolean {
  if (scopes !== undefined && !scopes.includes(scope)) return false
  const version = versionIn(folder)
  return version !== undefined && compareVersions(version, from) >= 0 && compareVersions(version, below) < 0
}

function versionIn(folder: string): string | undefined {
  try {
    const path = builtin('node:path')?.join(folder, 'package.json') ?? ''
    const { version }: { version?: unknown } = JSON.parse(hostDisk()?.fs.readFileSync(path, 'utf8') ?? '{}')
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined
  }
}

/** Compares major, minor and patch version. A prerelease counts as its release. */
function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split(/[.+-]/, 3).map(Number))
  for (const [index, part] of (left ?? []).entries()) {
    const difference = part - (right?.[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Lines that are looked at. */
const LINES_MAX = 20

/** The path in a line, absolute. */
const PATH = /(?:^|[\s(])((?:\/|[A-Za-z]:[\\/])[^():]*):\d+:\d+\)?$/

/** The lines above a function, the closest first, however the program formats stacks; none if the host has no stacks. */
export function linesAbove(above: (...args: never[]) => unknown): string[] {
  const { stackTraceLimit, prepareStackTrace } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = LINES_MAX
    Reflect.set(Error, 'prepareStackTrace', undefined)
    Error.captureStackTrace(holder, above)
    return typeof holder.stack === 'string' ? holder.stack.split('\n').slice(1) : []
  } catch {
    return []
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace)
  }
}

/** The path of the module in a line; undefined for those of the host. */
export function pathIn(line: string): string | undefined {
  return PATH.exec(line.replace('file://', ''))?.[1]
}

/** The path of the first module above a function that is not in the folder of this one. */
export function callerAbove(above: (...args: never[]) => unknown): string {
  const [here = ''] = linesAbove(callerAbove).flatMap((line) => pathIn(line) ?? [])
  const folder = here.slice(0, Math.max(here.lastIndexOf('/'), here.lastIndexOf('\\')) + 1)
  const paths = linesAbove(above).flatMap((line) => pathIn(line) ?? [])
  return paths.find((path) => !path.startsWith(folder)) ?? 'unknown'
}

/** The installed package of the module in a line. */
export function packageIn(line: string): string | undefined {
  return packageOf(pathIn(line) ?? '')?.name
}

/** The installed package that a path is in. */
export function packageOf(path: string): { readonly name: string; readonly folder: string } | undefined {
  const [folder, name] = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)(?=[\\/])/.exec(path) ?? []
  return folder === undefined || name === undefined ? undefined : { name: name.replaceAll('\\', '/'), folder }
}
