/** A build with webpack inside of the work of a task. It has a file of its own, because what a program reads and then changes is not stored. */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import type { Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { buildOnce } from './compile.ts'

/** The output lies in a cache, because a task that leaves files behind is not stored. */
const configOf = (folder: string): Configuration => ({
  module: { rules: [{ test: /a\.js$/, use: './loader.cjs' }] },
  output: { path: join(folder, '.cache/dist') },
})

const LOADER = `module.exports = (source) =>
  source + ';' + JSON.stringify(require('node:fs').readFileSync(require('node:path').join(__dirname, '.wordrc'), 'utf8'))`

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  await setTimeout(30) // so that files are no longer young
}

/** Runs the task in a cache of its own; how often it built: 0 or 1. */
async function runTask(folder: string): Promise<number> {
  const cache = await openCache({ name: 'tasks', dir: join(folder, 'tasks') })
  let count = 0
  const task = cache.task('build', { root: folder, trackReads: true, codec: 'json' })
  await task.run({ id: 'all' }, async () => {
    count += 1
    await buildOnce(folder, configOf(folder))
    return null
  })
  await cache.close()
  return count
}

it.each(['stored', 'taken from the cache'])(
  'a task whose work is a build depends on all that the build does, with modules %s',
  async (how) => {
    const folder = makeFolder()
    const sources = {
      'main.js': "import './a.js'\nimport './b.js'\n",
      'a.js': 'console.log(1)\n',
      'b.js': 'console.log(2)\n',
    }
    await write(folder, { 'package.json': '{}', ...sources, 'loader.cjs': LOADER, '.wordrc': 'first' })
    if (how === 'taken from the cache') await buildOnce(folder, configOf(folder))
    expect(await runTask(folder)).toBe(1)
    await runTask(folder) // what the first run found missing is there now: the output, and the cache
    expect(await runTask(folder)).toBe(0)
    for (const change of [{ 'b.js': 'console.log(20)\n' }, { '.wordrc': 'second' }]) {
      await write(folder, change)
      expect([change, await runTask(folder)]).toEqual([change, 1])
      expect(await runTask(folder)).toBe(0)
    }
    await write(folder, { 'loader.cjs': 'module.exports = () => ""' })
    for (const _ of [1, 2]) expect(await runTask(folder)).toBe(1) // with the loader that the process has in memory
    Reflect.deleteProperty(createRequire(import.meta.url).cache, join(folder, 'loader.cjs'))
    for (const count of [1, 0]) expect(await runTask(folder)).toBe(count)
  },
)
