/** What VarveWebpackPlugin leaves at its process. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { installReads } from 'varve/reads'
import { describe, expect, it } from 'vitest'
import webpack from 'webpack'
import { makeFolder } from '../../folders.ts'

function compilerOf(folder: string, entry = 'main.js'): webpack.Compiler {
  const compiler = webpack({
    mode: 'development',
    context: folder,
    entry: `./${entry}`,
    cache: { type: 'memory' },
    bail: true,
    module: { rules: [{ test: /\.svg$/, type: 'asset/resource' }] },
    plugins: [new VarveWebpackPlugin({ dir: 'cache' })],
  })
  if (compiler === null) throw new Error('webpack made no compiler')
  return compiler
}

const run = (compiler: webpack.Compiler): Promise<Error | null> => new Promise((resolve) => compiler.run(resolve))
const close = (compiler: webpack.Compiler): Promise<Error | null | undefined> =>
  new Promise((resolve) => compiler.close(resolve))

// Each build with entries to write added a listener for the exit of the process and kept it: Node warned from the 11th on.
it('many webpack builds in one process leave one exit listener', async () => {
  const folder = makeFolder()
  const before = process.listenerCount('beforeExit')
  for (let round = 0; round < 4; round++) {
    writeFileSync(join(folder, 'main.js'), `console.log(${round})\n`)
    const compiler = compilerOf(folder)
    expect([await run(compiler), await close(compiler)].filter(Boolean)).toEqual([])
  }
  expect(process.listenerCount('beforeExit')).toBeLessThanOrEqual(before + 1)
})

// Next.js runs much more after its builds: a cold build took a sixth more CPU time.
describe('the storage of the recorder, which slows all promises of the host down, is out of use', () => {
  const isInUse = (): unknown => Reflect.get(installReads()?.storage ?? {}, 'enabled')

  it('once a webpack build is over', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log(1)\n')
    const compiler = compilerOf(folder)
    expect(await run(compiler)).toBe(null)
    expect(isInUse()).not.toBe(true)
    await close(compiler)
  })

  it('once a webpack build has failed and is closed', async () => {
    const compiler = compilerOf(makeFolder(), 'missing.js')
    expect(await run(compiler)).toBeInstanceOf(Error)
    await close(compiler)
    expect(isInUse()).not.toBe(true)
  })
})

// Regression: the estimate of a value's size read every property of `compilation.hooks`, to which the generator of an asset module leads.
it('a build with an asset module prints no deprecation warning of webpack', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), "console.log(new URL('./image.svg', import.meta.url).href)\n")
  writeFileSync(join(folder, 'image.svg'), '<svg/>\n')
  const codes: unknown[] = []
  const note = (warning: Error): void => void codes.push(Reflect.get(warning, 'code'))
  process.on('warning', note)
  try {
    const compiler = compilerOf(folder)
    expect([await run(compiler), await close(compiler)].filter(Boolean)).toEqual([])
    await new Promise(setImmediate)
  } finally {
    process.off('warning', note)
  }
  expect(codes).toEqual([])
})
