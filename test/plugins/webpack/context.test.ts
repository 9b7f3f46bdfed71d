/** Jest runs each test file in a `vm` context, where the errors of Node are instances of another `Error`. */
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { dependencyFiles } from '../../../packages/plugins/dist/webpack/dependency-files.js'

it('a module that was loaded and then removed counts as empty when webpack runs in a context of its own', async () => {
  const missing: unknown = runInNewContext("Object.assign(new Error('no such file'), { code: 'ENOENT' })")
  expect(missing).not.toBeInstanceOf(Error)
  const fail = (_: string, callback: (error: unknown) => void): void => callback(missing)
  const gone = new Set<string>()
  const info = Object.create(null, { fs: { value: { readlink: fail, realpath: fail, readFile: fail } } })
  const { fs } = dependencyFiles(info, gone)
  const real = await new Promise((resolve, reject) => fs.realpath?.('/project/gone.js', (error, path) => (error ? reject(error) : resolve(path))))
  expect(real).toBe('/project/gone.js')
  expect([...gone]).toEqual(['/project/gone.js'])
})
