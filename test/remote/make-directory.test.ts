/** Directories for layers of a remote: below `/proc/self/fd`, the recursion of `mkdir` of Node.js never ended. */
import fs, { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type * as ofRemote from '../../packages/remote/src/host.ts'
import type * as ofVarve from '../../packages/varve/src/host/permission.ts'
import { makeFolder } from '../folders.ts'

const sourceOf = (path: string): string => new URL(`../../packages/${path}`, import.meta.url).href
const { makeDirectory }: typeof ofRemote = await import(sourceOf('remote/src/host.ts'))
const { makeDirectory: makeDirectoryNow }: typeof ofVarve = await import(sourceOf('varve/src/host/permission.ts'))

describe.each([
  ['@varve/remote', makeDirectory],
  ['varve', async (folder: string, mode?: number) => makeDirectoryNow(fs, folder, mode)],
] as const)('making directories: %s', (_name, make) => {
  it('makes the directories above, too, with the mode, and accepts those that exist', async () => {
    const folder = makeFolder()
    mkdirSync(join(folder, 'a'))
    for (let round = 0; round < 2; round++) await make(join(folder, 'a/b/c'), 0o700)
    const mode = process.platform === 'win32' ? 0o700 : statSync(join(folder, 'a/b')).mode & 0o777
    expect([existsSync(join(folder, 'a/b/c')), mode]).toEqual([true, 0o700])
    await make('/')
    await make(`${folder}/d/e/`)
    expect(existsSync(join(folder, 'd/e'))).toBe(true)
  })

  it('rejects if a file is in the way', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'file'), '')
    await expect(make(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(make(join(folder, 'file/below/it'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it.skipIf(process.platform !== 'linux')('ends where nothing can be made', async () => {
    for (const folder of ['/proc/self/fd/x', '/proc/self/fd/x/y/z', '/proc/x']) {
      await expect(make(folder), folder).rejects.toMatchObject({ code: 'ENOENT' })
    }
  })
})
