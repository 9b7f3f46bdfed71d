/** A process without an addon and with too little address space for WebAssembly has no engine, not even an in-memory cache. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const PROGRAM = fileURLToPath(new URL('address-space.mjs', import.meta.url))

/** The adapters failed the calls of their tools with ENGINE_UNAVAILABLE. */
it.skipIf(process.platform !== 'linux')(
  'plugins and adapters go on without a cache where no engine can be had, with one warning each',
  () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'export const answer = six\n')
    const args = ['-c', 'ulimit -v 4194304; exec "$0" "$@"', process.execPath, PROGRAM, folder]
    const ran = spawnSync('bash', args, { encoding: 'utf8', env: { ...process.env, VARVE_ENGINE: 'wasm' } })
    expect([ran.status, ran.stderr]).toEqual([0, expect.not.stringContaining('Error')])
    const { code, found, warnings } = JSON.parse(ran.stdout) as { code: string; found: unknown; warnings: string[] }
    expect([code, found]).toEqual([expect.stringContaining('6 * 7'), 'value'])
    expect(warnings).toHaveLength(2)
    for (const warning of warnings) expect(warning).toMatch(/WebAssembly engine.*address space/)
  },
)
