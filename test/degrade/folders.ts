/** Cache directories that cannot be used. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cache, type CacheOptions, openCache, VarveError } from 'varve'
import type { EngineName } from '../engines.ts'
import { makeFolder } from '../folders.ts'

export const IS_ROOT = process.geteuid?.() === 0

/** A cache and its warnings. */
export async function opened(dir: string, engine: EngineName, options: Partial<CacheOptions> = {}) {
  const warnings: VarveError[] = []
  const cache: Cache = await openCache({
    name: 'degrade',
    dir,
    engine,
    onWarning: (warning) => void warnings.push(warning),
    ...options,
  })
  return { cache, space: cache.namespace('n', { codec: 'text' }), warnings }
}

/** A closed cache with one entry. */
export async function made(
  engine: EngineName,
  dir: string = join(makeFolder(), 'cache'),
  options: Partial<CacheOptions> = {},
): Promise<string> {
  const { cache, space } = await opened(dir, engine, options)
  space.put('before', 'safe')
  await cache.commit()
  await cache.close()
  return dir
}

/** Directories that must not be read, each with the texts of `why` and `fix`. */
export const UNUSABLE: Readonly<Record<string, (dir: string) => readonly [why: RegExp, fix: RegExp]>> = {
  'a file where the folder should be'(dir) {
    writeFileSync(dir, 'theirs')
    return [/not a directory/, /remove it/]
  },
  'a file above it'(dir) {
    writeFileSync(dir, 'theirs')
    return [/not a directory/, /remove it/]
  },
  'a broken link'(dir) {
    symlinkSync(join(dir, '..', 'nowhere'), dir)
    return [/broken symbolic link/, /remove it/]
  },
  'a link to itself'(dir) {
    symlinkSync(dir, dir)
    return [/symbolic link/, /remove it/]
  },
  'a link in place of v1'(dir) {
    mkdirSync(join(dir, '..', 'elsewhere'))
    mkdirSync(dir)
    symlinkSync(join(dir, '..', 'elsewhere'), join(dir, 'v1'))
    return [/v1' is a symbolic link/, /remove it/]
  },
  'others may write to it'(dir) {
    mkdirSync(dir)
    execFileSync('chmod', ['777', dir])
    return [/others may write.*777/, /chmod go-w.*chmod \+t.*shared: true/]
  },
  'others may write to it, and it is sticky'(dir) {
    mkdirSync(dir)
    execFileSync('chmod', ['1777', dir])
    return [/others may write.*1777/, /trust it with shared: true/]
  },
}

/** Runs a command as root; false if this machine does not allow it. */
export function attempt(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'resolved',
    (error: unknown) => (error instanceof VarveError ? error.code : error),
  )
