/** Programs of plugin tests: each runs in a separate process, takes an order and prints the result, both as JSON. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** How a program is run. */
export interface RunOptions {
  /** Arguments of Node, such as `--no-addons`. */
  readonly nodeArgs?: readonly string[]
  readonly cwd?: string
  /** Variables besides those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a program to its end. If it prints no answer, rejects with its error output. */
export async function runProgram<Answer>(
  program: string,
  order: object,
  { nodeArgs = [], cwd, env = {} }: RunOptions = {},
): Promise<Answer> {
  const child = spawn(process.execPath, [...nodeArgs, program, JSON.stringify(order)], {
    cwd,
    env: { ...process.env, ...env },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()))
  const [code] = await once(child, 'close')
  const answer = out.trim().split('\n').at(-1) ?? ''
  if (code !== 0 || !answer.startsWith('{')) throw new Error(`${program} died with ${code}: ${out}${err}`)
  return JSON.parse(answer)
}

/** A copy of a cache folder to put back before each round of damage. */
export function keepFolder(dir: string, keptIn: string): () => void {
  cpSync(dir, keptIn, { recursive: true })
  return () => {
    rmSync(dir, { recursive: true, force: true })
    cpSync(keptIn, dir, { recursive: true })
  }
}

/** Flips a bit of one byte in every file of a cache folder, at `part` (0 to 1) of its length. Returns how many files. */
export function damage(dir: string, part: number): number {
  const files = readdirSync(join(dir, 'v1')).map((name) => join(dir, 'v1', name))
  for (const file of files) {
    const bytes = readFileSync(file)
    const at = Math.floor(bytes.length * part)
    bytes[at] = (bytes[at] ?? 0) ^ 0x10
    writeFileSync(file, bytes)
  }
  return files.length
}
