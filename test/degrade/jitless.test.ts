/** WebAssembly is asked for in a process that has none: plugins and adapters go on without a directory, with one warning. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const PROGRAM = fileURLToPath(new URL('jitless.mjs', import.meta.url))

interface Build {
  readonly tool: string
  readonly isRight: boolean
  readonly warnings: readonly string[]
}

it('builds and adapters under --jitless work with the engine WebAssembly, each with one warning that names the reason', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--jitless', PROGRAM, makeFolder()], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, VARVE_ENGINE: 'wasm' },
  })
  const builds = stdout
    .trim()
    .split('\n')
    .map((line): Build => JSON.parse(line))
  const expected = ['rollup', 'esbuild', 'webpack', 'keyv', 'unstorage'].map((tool) => ({
    tool,
    isRight: true,
    warnings: [expect.stringContaining('this process has no WebAssembly, as under --jitless')],
  }))
  expect([status, builds], stderr).toEqual([0, expected])
})
