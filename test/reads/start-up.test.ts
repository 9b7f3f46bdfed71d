/** What a program reads before its first recorded work counts, unless it is the folder that the program empties for its output. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'

/** Runs a program that does `first` and then a task that tracks reads; whether its result came from the cache. */
function hits(folder: string, first: string, write?: string): boolean {
  return run(folder, first, '1', write)[0] === '1'
}

/** Two ways to write the output: by the program itself, and by native code, which the recorder does not see. */
const WRITE = `
    fs.mkdirSync('dist/pages', { recursive: true })
    fs.writeFileSync('dist/main.js', '1')
    fs.writeFileSync('dist/pages/one.html', '1')`
const WRITE_NATIVELY = `
    process.getBuiltinModule('node:child_process').execFileSync(process.execPath, ['--eval', ${JSON.stringify(WRITE)}])`

/** The same, with other work. Returns how many results came from the cache, and the result. */
function run(
  folder: string,
  first: string,
  work = '1',
  write = WRITE,
  args: readonly string[] = [],
): readonly string[] {
  const program = `
    import { installReads } from 'varve/reads'
    installReads()
    const fs = await import('node:fs')
    const { openCache } = await import('varve')
    const filesIn = (folder) => fs.readdirSync(folder).map((name) => folder + '/' + name)
      .flatMap((path) => (fs.statSync(path).isDirectory() ? filesIn(path) : [path]))
    ${first}
    const cache = await openCache({ name: 'start-up', dir: 'made/cache' })
    const task = cache.task('task', { root: process.cwd(), trackReads: true })
    const result = await task.run({ id: 'id' }, () => ${work})
    ${write}
    console.log(task.stats().hits, result)
    await cache.close()`
  const out = execFileSync(process.execPath, [...args, '--input-type=module', '--eval', program], {
    cwd: folder,
    encoding: 'utf8',
  })
  return out.trim().split(' ')
}

function makeProject(): string {
  const folder = makeFolder()
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'dist/pages'), { recursive: true })
  writeFileSync(join(folder, 'dist/main.js'), 'of an older build')
  writeFileSync(join(folder, 'dist/pages/one.html'), 'of an older build')
  return folder
}

const WAYS = [
  ['with rmSync', `fs.rmSync('dist', { recursive: true, force: true })`],
  ['with rm', `await fs.promises.rm('dist', { recursive: true, force: true })`],
  ['by the names in it', `for (const name of fs.readdirSync('dist')) fs.rmSync('dist/' + name, { recursive: true })`],
  ['file by file', `for (const file of filesIn('dist')) fs.unlinkSync(file)`],
  ['after a look at all its files', `filesIn('dist'); fs.rmSync('dist', { recursive: true })`],
  ['if it is there', `if (fs.existsSync('dist')) fs.rmSync('dist', { recursive: true })`],
] as const

describe.each([
  ['itself', WRITE, true],
  ['in native code', WRITE_NATIVELY, false],
])('a program that writes its output %s', (_, write, isSeen) => {
  it.each(WAYS)(
    'and empties the folder %s before it works gets its results from the cache',
    isSeen ? {} : slow,
    (_way, first) => {
      const folder = makeProject()
      expect(hits(folder, first, write)).toBe(false)
      expect(hits(folder, first, write)).toBe(true)
      expect(hits(folder, first, write)).toBe(true)
    },
  )

  it('and works again after that gets the result from the cache for which it had not written again', () => {
    const folder = makeProject()
    const again = `${write}; await task.run({ id: 'again' }, () => 1)`
    const results = [0, 1, 2].map(
      () => run(folder, `fs.readdirSync('dist'); fs.rmSync('dist', { recursive: true })`, '1', again)[0],
    )
    expect(results).toEqual(['0', '1', '1'])
  })

  it('and reads that of the build before gets its results from the cache if it is known as output', () => {
    const folder = makeProject()
    const first = `${write}; filesIn('dist').map((file) => fs.readFileSync(file)); fs.rmSync('dist', { recursive: true })`
    expect(hits(folder, first, write)).toBe(false)
    expect(hits(folder, first, write)).toBe(isSeen)
  })
})

/** As Astro, whose first server makes the directory of the output known. */
const KNOWN_OUTPUT = `
    const { noteOutput } = await import('varve/internal')
    noteOutput('dist', process.cwd())`

const EMPTY = `if (fs.existsSync('dist')) for (const name of fs.readdirSync('dist')) fs.rmSync('dist/' + name, { recursive: true })`

/** A bundler writes once its plugins have stored their results. */
const WRITE_LATE = `await cache.commit()\n${WRITE}`

it('a program whose output directory is known, and missing at first, gets nothing from the cache in its second build', () => {
  const folder = makeProject()
  rmSync(join(folder, 'dist'), { recursive: true })
  expect(hits(folder, `${KNOWN_OUTPUT}\n${EMPTY}`, WRITE_LATE)).toBe(false)
  expect(hits(folder, `${KNOWN_OUTPUT}\n${EMPTY}`, WRITE_LATE)).toBe(true)
})

it('a program that empties its output directory, and writes other names before it works, gets nothing from the cache', () => {
  const folder = makeProject()
  const first = (name: string): string => `${KNOWN_OUTPUT}\n${EMPTY}\nfs.writeFileSync('dist/main.js', '1')
    fs.mkdirSync('dist/${name}'); fs.rmSync('dist/main.js')`
  expect(hits(folder, first('one'), WRITE_LATE)).toBe(false)
  expect(hits(folder, first('two'), WRITE_LATE)).toBe(true)
})

it('names in its output directory that a program lists and leaves count', () => {
  const folder = makeProject()
  const first = `${KNOWN_OUTPUT}\nconst names = fs.readdirSync('dist')`
  expect(hits(folder, first, '')).toBe(false)
  expect(hits(folder, first, '')).toBe(true)
  writeFileSync(join(folder, 'dist/other.js'), '1')
  expect(hits(folder, first, '')).toBe(false)
})

it.each(['native', 'wasm'])('a folder that a cache syncs after damage (%s) is not read by the program', (engine) => {
  const folder = makeProject()
  const program = `
    import { installReads } from 'varve/reads'
    const { ambient } = installReads()
    const { openCache } = await import('varve')
    const cache = await openCache({ name: 'own', dir: 'made/cache', engine: '${engine}', onWarning() {} })
    await new Promise((resolve) => setImmediate(resolve))
    cache.namespace('n').put('key', new Uint8Array(100))
    await cache.commit()
    await cache.close()
    console.log(JSON.stringify([...ambient.reads.keys()].filter((key) => /^content .*(?:made|cache)$/.test(key))))`
  const start = (): string =>
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder, encoding: 'utf8' })
  start()
  const files = join(folder, 'made/cache/v1')
  for (const name of readdirSync(files)) if (name.startsWith('manifest')) writeFileSync(join(files, name), 'damage')
  expect(JSON.parse(start())).toEqual([])
})

it('a program that looks for a folder, which the cache then makes, gets its results from the cache', () => {
  const folder = makeProject()
  const first = `fs.existsSync('made'); fs.existsSync('made/cache')`
  expect(hits(folder, first)).toBe(false)
  expect(hits(folder, first)).toBe(true)
})

it('a file that appears in a folder which a program lists is a miss, although the program removes another file of it', () => {
  const folder = makeProject()
  const first = `fs.readdirSync('pages'); fs.rmSync('pages/old.js', { force: true })`
  mkdirSync(join(folder, 'pages'))
  for (const name of ['a.js', 'old.js']) writeFileSync(join(folder, 'pages', name), '')
  expect(hits(folder, first)).toBe(false)
  expect(hits(folder, first)).toBe(true)
  writeFileSync(join(folder, 'pages/b.js'), '')
  expect(hits(folder, first)).toBe(false)
})

it('the result of a program that removes a file which it has read is not stored', () => {
  const folder = makeProject()
  const first = `globalThis.seen = fs.readFileSync('request.json', 'utf8'); fs.rmSync('request.json')`
  for (const word of ['1', '2', '2', '1']) {
    writeFileSync(join(folder, 'request.json'), word)
    expect(run(folder, first, 'seen')).toEqual(['0', word])
  }
})

it(
  'a program whose thousands of modules loaded each other one by one gets its results from the cache, until the last one changes',
  slow,
  () => {
    const folder = makeProject()
    const COUNT = 6000
    for (let index = 0; index < COUNT; index++)
      writeFileSync(join(folder, `${index}.cjs`), `exports.next = () => require('./${index + 1}.cjs')`)
    writeFileSync(
      join(folder, 'all.cjs'),
      `let last = require('./0.cjs')\nwhile (last.next) last = last.next()\nglobalThis.seen = last.word`,
    )
    for (const [word, hit] of [
      ['one', '0'],
      ['one', '1'],
      ['two', '0'],
    ] as const) {
      writeFileSync(join(folder, `${COUNT}.cjs`), `exports.word = '${word}'`)
      expect(run(folder, '', 'seen', '', ['--require', './all.cjs'])).toEqual([hit, word])
    }
  },
)

it('the result of what a program wrote is stored as that of what it had read in that file before', () => {
  const folder = makeProject()
  const path = join(folder, 'version.txt')
  const work = `fs.readFileSync('version.txt', 'utf8')`
  writeFileSync(path, '1')
  const replace = `${work}; fs.writeFileSync('version.txt', '2')`
  expect(run(folder, replace, work)).toEqual(['0', '2'])
  writeFileSync(path, '1')
  expect(run(folder, '', work)).toEqual(['0', '1'])
  writeFileSync(path, '2')
  expect(run(folder, '', work)[1]).toBe('2')
  writeFileSync(path, '1')
  expect(run(folder, replace, work)[1]).toBe('2')
})

it('the result of a program that replaces a file which it has read is not stored, although the work reads the file, too', () => {
  const folder = makeProject()
  const first = `globalThis.seen = fs.readFileSync('version.txt', 'utf8'); fs.writeFileSync('version.txt', '1')`
  const work = `seen + fs.readFileSync('version.txt', 'utf8')`
  for (const [version, isHit] of [
    ['2', '0'],
    ['2', '0'],
    ['0', '0'],
    ['1', '0'],
    ['1', '1'], // the same content: nothing was replaced
    ['0', '0'],
  ] as const) {
    writeFileSync(join(folder, 'version.txt'), version)
    expect(run(folder, first, work)).toEqual([isHit, `${version}1`])
  }
})

it.each([
  ['a module', "try { (await import('node:module')).createRequire(process.cwd() + '/')('./made.cjs') } catch {}"],
  ['a file', "try { fs.readFileSync('made.cjs') } catch {}"],
  ['a name', "fs.existsSync('made.cjs')"],
])('%s that a program does not find, and removes in vain, is a miss once it is there', (_, read) => {
  const folder = makeProject()
  const clean = `${read}; fs.rmSync('made.cjs', { force: true })`
  expect([hits(folder, clean), hits(folder, clean)]).toEqual([false, true])
  writeFileSync(join(folder, 'made.cjs'), 'module.exports = 2')
  expect(hits(folder, read)).toBe(false)
})

it('a request that a program reads and removes is not answered with the result of when there was none', () => {
  const folder = makeProject()
  const take = `globalThis.request = 'none'
    try { if (fs.statSync('request.txt').isFile()) globalThis.request = fs.readFileSync('request.txt', 'utf8') } catch {}
    fs.rmSync('request.txt', { force: true })`
  const results = (): readonly string[] => run(folder, take, 'globalThis.request')
  expect([results(), results()]).toEqual([
    ['0', 'none'],
    ['1', 'none'],
  ])
  writeFileSync(join(folder, 'request.txt'), 'all')
  expect([results(), results()]).toEqual([
    ['0', 'all'],
    ['1', 'none'],
  ])
})

it('a temporary file that a program reads and removes is not its request', () => {
  const folder = makeProject()
  const temporary = makeFolder()
  const file = join(temporary, 'message.txt')
  const take = `fs.readFileSync(${JSON.stringify(file)}); fs.rmSync(${JSON.stringify(file)})`
  vi.stubEnv('TMPDIR', temporary)
  vi.stubEnv('TEMP', temporary)
  try {
    for (const hit of [false, true, true]) {
      writeFileSync(file, 'all')
      expect(hits(folder, take)).toBe(hit)
    }
  } finally {
    vi.unstubAllEnvs()
  }
})

it('what a program reads in a file that another program then removes decides its results, although the program tries to remove it, too', () => {
  const folder = makeProject()
  const remove = `process.getBuiltinModule('node:child_process').execFileSync(process.execPath, ['--eval', "fs.rmSync('a.txt')"])`
  const first = `globalThis.seen = fs.readFileSync('a.txt', 'utf8'); ${remove}; fs.rmSync('a.txt', { force: true })`
  for (const word of ['one', 'two']) {
    writeFileSync(join(folder, 'a.txt'), word)
    expect(run(folder, first, 'seen')[1]).toBe(word)
  }
})

describe.each([
  ['does not read it', 'seen'],
  ['looks for it, too', `(fs.existsSync('made.txt'), seen)`],
  ['reads it, too', `(fs.readFileSync('made.txt'), seen)`],
])('a program that does not find a file, which another program then makes, and work that %s', (_, work) => {
  it('a result without the file is not used with it, and the other way around', () => {
    const folder = makeProject()
    const make = `process.getBuiltinModule('node:child_process').execFileSync(process.execPath, ['--eval', "fs.writeFileSync('made.txt', '')"])`
    const first = `globalThis.seen = fs.existsSync('made.txt'); if (!seen) ${make}`
    const results = [false, true, true, false, true].map((isThere) => {
      if (!isThere) rmSync(join(folder, 'made.txt'), { force: true })
      return run(folder, first, work)
    })
    expect(results.map(([, result]) => result)).toEqual(['false', 'true', 'true', 'false', 'true'])
    expect(results.slice(0, 3).map(([hit]) => hit)).toEqual(['0', '0', '1'])
  })
})

it('another copy of one version of a package, which a program has required while it started, is a miss', () => {
  const folder = makeProject()
  const link = (copy: string): void => {
    const store = join(folder, 'plugin/node_modules/.store', copy, 'node_modules/words')
    mkdirSync(store, { recursive: true })
    writeFileSync(join(store, 'package.json'), '{ "name": "words", "version": "1.0.0" }')
    writeFileSync(join(store, 'index.js'), `module.exports = '${copy}'`)
    rmSync(join(folder, 'plugin/node_modules/words'), { force: true })
    symlinkSync(store, join(folder, 'plugin/node_modules/words'), 'junction')
  }
  const first = `
    const { createRequire } = await import('node:module')
    globalThis.word = createRequire(process.cwd() + '/plugin/index.js')('words')`
  link('one')
  expect(run(folder, first, 'word')).toEqual(['0', 'one'])
  expect(run(folder, first, 'word')).toEqual(['1', 'one'])
  link('two')
  expect(run(folder, first, 'word')).toEqual(['0', 'two'])
})

it('a setting that a program reads once an earlier cache of the process is closed is an input of the tasks of the next one', () => {
  const folder = makeProject()
  const first = `
    const earlier = await openCache({ name: 'earlier', dir: 'made/earlier' })
    await earlier.task('task', { root: process.cwd(), trackReads: true }).run({ id: 'id' }, () => 1)
    await earlier.close()
    globalThis.setting = fs.readFileSync('setting.txt', 'utf8')`
  const results = ['one', 'one', 'two'].map((setting) => {
    writeFileSync(join(folder, 'setting.txt'), setting)
    return run(folder, first, 'setting')
  })
  expect(results).toEqual([
    ['0', 'one'],
    ['1', 'one'],
    ['0', 'two'],
  ])
})
