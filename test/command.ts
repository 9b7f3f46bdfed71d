/** The command `varve`, as it is built. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const MAIN: string = fileURLToPath(new URL('../packages/varve/dist/bundle/cli.js', import.meta.url))

/** How it ended, and what it printed. */
export interface Ran {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

/** Runs it; `env` comes on top of the environment. */
export function runVarve(
  args: readonly string[],
  { cwd, env, input = '' }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Ran {
  const options = {
    cwd,
    input,
    env: { ...process.env, FORCE_COLOR: undefined, ...env },
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], options)
  return { status, out: stdout, err: stderr }
}
