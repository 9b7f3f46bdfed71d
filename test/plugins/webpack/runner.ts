/** Starts `run.mjs`: builds in a process of their own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const RUN = fileURLToPath(new URL('run.mjs', import.meta.url))

/** One build; `changes` are made one after the other in watch mode. */
export interface Order {
  readonly folder: string
  readonly cache: 'none' | 'webpack' | 'varve'
  readonly changes?: readonly (readonly [file: string, text: string])[]
  /** Options of VarveWebpackPlugin. */
  readonly options?: object
}

/** The result. */
export interface Built {
  /** Modules taken from a cache, and modules built, over all compilers and builds. */
  readonly taken: number
  readonly built: number
  readonly hits: number
  readonly misses: number
  readonly skipped: number
  readonly stored: number
  /** Infrastructure warnings, which are messages of the plugin. */
  readonly complaints: string[]
  readonly errors: string[]
  readonly warnings: string[]
  /** Digests of what is in the output folder. */
  readonly files: Record<string, string>
}

/** Runs orders one after the other in one process. */
export async function build(
  orders: readonly Order[],
  env: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<Built[]> {
  const child = spawn(process.execPath, [...flags, RUN, JSON.stringify(orders)], { env: { ...process.env, ...env } })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()))
  await once(child, 'close')
  if (out === '') throw new Error(`the build died: ${err}`)
  return JSON.parse(out)
}
