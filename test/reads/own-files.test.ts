/**
 * Work that keeps in memory what it read as the file of one run, and uses it in another run. Each row is a process that builds all files;
 * then one file changes, and a new process has to find what it would find without a cache.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

/**
 * A program with `read`, which keeps what it reads, and `readAnew`, which does not, and with `files`, which reads as the file system of a
 * bundler does. `isCached`: with a task, or without.
 */
const programOf = (work: string, options: string): string => `
  import fs, { readFileSync } from 'node:fs'
  import { openCache } from 'varve'
  import { recordedFiles } from 'varve/reads'
  const files = recordedFiles({
    readFileSync: (...args) => fs.readFileSync(...args),
    readFile: (name, callback) => callback(null, fs.readFileSync(name, 'utf8')),
  })
  const [isCached] = process.argv.slice(1).map((word) => word === 'cached')
  const memory = new Map()
  const readAnew = (name) => readFileSync(name, 'utf8')
  const read = (name) => memory.get(name) ?? (memory.set(name, readAnew(name)), memory.get(name))
  const names = ['a.txt', 'b.txt', 'c.txt']
  const work = (id) => { ${work} }
  const results = []
  if (!isCached) for (const id of names) results.push(work(id))
  else {
    const cache = await openCache({ name: 'own', dir: 'cache' })
    const task = cache.task('own', { root: process.cwd(), trackReads: true, ${options} })
    for (const id of names) results.push(await task.run({ id }, () => work(id)))
    results.push(task.stats().hits)
    await cache.close()
  }
  console.log(JSON.stringify(results))`

/** What work does with its file and those of others, and options of the task. */
const ROWS: readonly [name: string, work: string, options?: string][] = [
  [
    'a linter reads its file, and a rule of it reads files that import each other',
    `
    const source = readAnew(id)
    const before = names[names.indexOf(id) - 1]
    return source + read(id) + (before === undefined ? '' : read(before))`,
  ],
  ['a program reads all files in the first run', `return names.map(read).join()`],
  [
    'a run reads the file of another run',
    `return readAnew(id) + names.slice(0, names.indexOf(id)).map(readAnew).join()`,
  ],
  [
    'a file system calls back before it returns, and the callback reads the file of another run',
    `
    let text = ''
    files.readFile(id, (_, own) => (text = own + (id === 'a.txt' ? '' : readAnew('a.txt'))))
    return text`,
  ],
  ['work says that it keeps files', `return read(id) + (id === 'a.txt' ? '' : read('a.txt'))`, `ownFiles: 'shared'`],
]

it.each(ROWS)('a result is not stale although work keeps files of other runs: %s', (_, work, options = '') => {
  const folder = makeFolder()
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'cache'), { recursive: true })
  const run = (how: 'cached' | 'plain'): unknown[] =>
    JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '--eval', programOf(work, options), how], {
        cwd: folder,
        encoding: 'utf8',
      }),
    ) as unknown[]
  for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(join(folder, name), `${name} 1`)
  expect(run('cached')).toEqual([...run('plain'), 0])
  expect(run('cached')).toEqual([...run('plain'), 3])
  for (const name of ['a.txt', 'c.txt', 'b.txt', 'a.txt']) {
    writeFileSync(join(folder, name), `${name} ${Math.random()}`)
    expect(run('cached').slice(0, 3)).toEqual(run('plain'))
  }
})

it.each([
  ['themselves', 'return readAnew(id)'],
  ['through the file system of a bundler', `return files.readFileSync(id, 'utf8')`],
])('a task whose runs read their own files, and no others, is made again for an edited file only: %s', (_, work) => {
  const folder = makeFolder()
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'))
  const run = (): unknown =>
    JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '--eval', programOf(work, ''), 'cached'], {
        cwd: folder,
        encoding: 'utf8',
      }),
    )
  for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(join(folder, name), '1')
  expect(run()).toEqual(['1', '1', '1', 0])
  writeFileSync(join(folder, 'b.txt'), '2')
  expect(run()).toEqual(['1', '2', '1', 2])
})
