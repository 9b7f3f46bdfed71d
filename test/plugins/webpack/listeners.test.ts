/** What VarveWebpackPlugin leaves at its process. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { installReads } from 'varve/reads'
import { expect, it } from 'vitest'
import webpack from 'webpack'
import { makeFolder } from '../../folders.ts'

function build(folder: string): Promise<void> {
  const compiler = webpack({
    mode: 'development', context: folder, entry: './main.js', cache: { type: 'memory' },
    plugins: [new VarveWebpackPlugin({ dir: 'cache' })],
  })
  return new Promise((resolve, reject) => {
    compiler?.run((error) => void compiler.close((closing) => (error ?? closing ? reject(error ?? closing) : resolve())))
  })
}

// Each build with entries to write added a listener for the exit of the process and kept it: Node warned from the 11th on.
it('many webpack builds in one process leave one exit listener', async () => {
  const folder = makeFolder()
  const before = process.listenerCount('beforeExit')
  for (let round = 0; round < 4; round++) {
    writeFileSync(join(folder, 'main.js'), `console.log(${round})\n`)
    await build(folder)
  }
  expect(process.listenerCount('beforeExit')).toBeLessThanOrEqual(before + 1)
})

// Next.js runs much more after its builds: a cold build took a sixth more CPU time.
it.each([
  ['is over', 'main.js'],
  ['has failed and is closed', 'missing.js'],
])('the storage of the recorder, which slows all promises of the host down, is out of use once a webpack build %s', async (_, entry) => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), 'console.log(1)\n')
  const compiler = webpack({
    mode: 'development', context: folder, entry: `./${entry}`, cache: { type: 'memory' }, bail: true,
    plugins: [new VarveWebpackPlugin({ dir: 'cache' })],
  })
  const error = await new Promise<Error | null>((resolve) => compiler?.run(resolve))
  expect(error === null).toBe(entry === 'main.js')
  if (error !== null) await new Promise((resolve) => compiler?.close(resolve))
  const storage: object = installReads()?.storage ?? {}
  expect(Reflect.get(storage, 'enabled')).not.toBe(true)
  if (error === null) await new Promise((resolve) => compiler?.close(resolve))
})
