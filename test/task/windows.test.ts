/** Paths of Windows in what a task records, on every system. */
import { posix, win32 } from 'node:path'
import { expect, it } from 'vitest'
import type * as module from '../../packages/varve/src/inputs/root.ts'

const { Root }: typeof module = await import(new URL('../../packages/varve/src/inputs/root.ts', import.meta.url).href)

// A file that a call declares and reads was taken for two on Windows, and then its changes invalidated the results of all calls.
it.each([
  ['win32', win32, 'C:\\project', ['C:\\project\\src\\a.js', 'C:\\other\\b.js', 'D:\\c.js']],
  ['posix', posix, '/project', ['/project/src/a.js', '/other/b.js', '/']],
] as const)(
  'a file has one path, in the form of the system, whether it is declared or read: %s',
  (_, paths, folder, files) => {
    const root = new Root(folder, paths)
    for (const file of files) {
      expect(root.relative(file)).not.toContain('\\')
      expect(root.absolute(root.relative(file))).toBe(file)
    }
  },
)
