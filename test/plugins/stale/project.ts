/** Projects that are built, changed and built again, each time with the cache and without: both have to emit the same. */
import { deepEqual, ok } from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '../../folders.ts'
import { runProgram } from '../programs.ts'

const PROGRAM = fileURLToPath(new URL('build.mjs', import.meta.url))
const INSTALLED = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** Longer than files stay young. */
const SETTLE_MS = 50

/** What a build printed. */
interface Answer {
  readonly cached: Output
  readonly plain: Output
  readonly stats: readonly Stats[]
}

interface Output {
  readonly failure: string
  readonly files: readonly (readonly [name: string, text: string])[]
}

/** The results of the calls of a build with the cache. */
export interface Stats {
  readonly hits: number
  readonly misses: number
  readonly reasons: Readonly<Record<string, number>>
  readonly reads: { readonly files: readonly string[]; readonly variables: readonly string[] }
}

/** A project and the tool that builds it. */
export class StaleProject {
  readonly folder: string = makeFolder()
  readonly #tool: string
  /** The folder below that the tool runs in. */
  readonly #place: string

  constructor(tool: string, files: Readonly<Record<string, string>>, place = '.') {
    this.#tool = tool
    this.#place = place
    linkInstalled(join(this.folder, 'node_modules'))
    for (const [path, text] of Object.entries(files)) this.write(path, text)
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  replace(path: string, before: string, after: string): void {
    const text = readFileSync(join(this.folder, path), 'utf8')
    ok(text.includes(before), `${path} has no ${before}`)
    this.write(path, text.replaceAll(before, after))
  }

  remove(path: string): void {
    rmSync(join(this.folder, path), { recursive: true })
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    symlinkSync(target, join(this.folder, path))
  }

  /** Builds, expects the output of a build without cache, and returns the results of the calls. */
  async build(env: Readonly<Record<string, string>> = {}): Promise<Stats> {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const { cached, plain, stats } = await runProgram<Answer>(
      PROGRAM,
      { tool: this.#tool },
      { cwd: join(this.folder, this.#place), env },
    )
    deepEqual(cached, plain)
    ok(plain.files.length + plain.failure.length > 0, 'nothing was emitted')
    return merged(stats)
  }

  /** Builds until everything is a hit: the second build of an unchanged project, or the third if the first one wrote files that it reads. */
  async warm(env?: Readonly<Record<string, string>>): Promise<void> {
    await this.build(env)
    let last = await this.build(env)
    if (last.misses > 0) last = await this.build(env)
    deepEqual([last.misses, last.reasons], [0, {}])
    ok(last.hits > 0, 'nothing was in the cache')
  }
}

function merged(stats: readonly Stats[]): Stats {
  const add = (one: Stats, other: Stats): Stats => ({
    hits: one.hits + other.hits,
    misses: one.misses + other.misses,
    reasons: { ...one.reasons, ...other.reasons },
    reads: {
      files: [...one.reads.files, ...other.reads.files],
      variables: [...one.reads.variables, ...other.reads.variables],
    },
  })
  return stats.reduce(add, { hits: 0, misses: 0, reasons: {}, reads: { files: [], variables: [] } })
}

/** Links to all that is installed here, one by one: projects add links of their own, and caches. */
export function linkInstalled(target: string): void {
  mkdirSync(target, { recursive: true })
  for (const name of readdirSync(INSTALLED)) {
    if (name.startsWith('.')) continue
    if (!name.startsWith('@')) symlinkSync(join(INSTALLED, name), join(target, name))
    else {
      mkdirSync(join(target, name))
      for (const scoped of readdirSync(join(INSTALLED, name)))
        symlinkSync(join(INSTALLED, name, scoped), join(target, name, scoped))
    }
  }
}
