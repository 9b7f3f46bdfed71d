/** Tasks that track reads: a result is used again only if everything that its work read is as it was. */
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  cpSync,
  createReadStream,
  createWriteStream,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  promises,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  stat,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { setImmediate as tick } from 'node:timers/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { VarveError } from 'varve'
import { Counted, onEngine, type Project, type Subject, withCache } from '../task/subject.ts'

function textOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function listOf(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  return readdirSync(folder)
}

function readCopy(source: string, target: string): string {
  cpSync(source, target, { recursive: true })
  return readFileSync(join(target, 'a'), 'utf8')
}

/** Opens a file to append to it, and reads it. */
function readAtEnd(path: string): string {
  const file = openSync(path, 'a+')
  try {
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function orNothing(load: () => unknown): unknown {
  try {
    return load()
  } catch {
    return undefined
  }
}

const resolveOrNothing = (name: string): unknown => orNothing(() => createRequire(import.meta.url).resolve(name))
const moduleOrNothing = (name: string, from = import.meta.url): unknown => orNothing(() => createRequire(from)(name))

/** Changes the file of a module and removes the module from the memory of this process, so that the next `require` loads the new file. */
function editModule({ write, path }: Project, name: string): void {
  write(name, 'module.exports = 2')
  Reflect.deleteProperty(createRequire(import.meta.url).cache, path(name))
}

/** Does `work` in a cache of its own, as a process of its own would. Returns how often it was done: 0 or 1. */
async function once(subject: Subject, project: Project, work: () => unknown, id = 'id'): Promise<number> {
  return withCache(subject, project, async (cache) => {
    const counted = new Counted(cache, project.root, { trackReads: true })
    await counted.run({ id }, work)
    return counted.count
  })
}

/** A package that can name its own modules, and the same package with another module under these names. */
const PACKAGE = '{ "name": "own", "exports": "./a.cjs", "imports": { "#own": "./a.cjs" } }'
const PACKAGE_LATER = '{ "name": "own", "exports": "./list/a", "imports": { "#own": "./list/a" } }'

/** What work reads, and a change of it. */
const ROWS: readonly [name: string, work: (project: Project) => unknown, change: (project: Project) => unknown][] = [
  ['the content of a file', ({ path }) => readFileSync(path('a.txt')), ({ write }) => write('a.txt', 'two')],
  ['the content of a file, by a promise', ({ path }) => readFile(path('a.txt')), ({ write }) => write('a.txt', 'two')],
  ['a file that is missing and appears', ({ path }) => existsSync(path('b.txt')), ({ write }) => write('b.txt', '')],
  ['a file that is there and goes', ({ path }) => existsSync(path('a.txt')), ({ path }) => rmSync(path('a.txt'))],
  ['a file whose reading failed', ({ path }) => textOrNothing(path('b.txt')), ({ write }) => write('b.txt', '')],
  ['the size of a file', ({ path }) => statSync(path('a.txt')).size, ({ write }) => write('a.txt', 'longer')],
  [
    'the size of a file, by lstat',
    ({ path }) => lstatSync(path('a.txt')).size,
    ({ write }) => write('a.txt', 'longer'),
  ],
  [
    'the size of a file, as a large number',
    ({ path }) => statSync(path('a.txt'), { bigint: true }).size,
    ({ write }) => write('a.txt', 'longer'),
  ],
  [
    'the size of a file, by a promise',
    async ({ path }) => (await promises.stat(path('a.txt'))).size,
    ({ write }) => write('a.txt', 'longer'),
  ],
  [
    'the size of a file, by a callback',
    ({ path }) => new Promise((resolve) => stat(path('a.txt'), (_, { size }) => resolve(size))),
    ({ write }) => write('a.txt', 'longer'),
  ],
  [
    'the size of a file, by a callback made a promise',
    async ({ path }) => ({ ...(await promisify(stat)(path('a.txt'))) }),
    ({ write }) => write('a.txt', 'longer'),
  ],
  ['the list of a folder', ({ path }) => readdirSync(path('list')), ({ write }) => write('list/b', '')],
  [
    'a folder in place of a file',
    ({ path }) => readdirSync(path('list')),
    ({ path }) => (rmSync(path('list/a')), mkdirSync(path('list/a'))),
  ],
  [
    'the list of a folder and all below',
    ({ path }) => readdirSync(path('list'), { recursive: true }),
    ({ write }) => write('list/x/y', ''),
  ],
  ['a variable', () => process.env['VARVETEST_READ'], () => (process.env['VARVETEST_READ'] = 'two')],
  ['whether a variable is set', () => 'VARVETEST_READ' in process.env, () => (process.env['VARVETEST_READ'] = 'two')],
  ['all variables', () => ({ ...process.env }), () => (process.env['VARVETEST_OTHER'] = 'two')],
  ['the list of a folder that it made sure of', ({ path }) => listOf(path('list')), ({ write }) => write('list/b', '')],
  ['the list of a folder that it made', ({ path }) => listOf(path('new/list')), ({ write }) => write('new/list/b', '')],
  [
    'a file read as a stream of ASCII',
    ({ path }) => createReadStream(path('a.txt'), 'ascii').toArray(),
    ({ write }) => write('a.txt', 'two'),
  ],
  [
    'a file in a folder that it copied',
    ({ path }) => readCopy(path('list'), path('.cache/top')),
    ({ write }) => write('list/a', 'two'),
  ],
  [
    'a list below a link',
    ({ path }) => readdirSync(path('top'), { recursive: true }),
    ({ write }) => write('list/b', ''),
  ],
  [
    'a missing module that appears',
    ({ path }) => moduleOrNothing(path('b')),
    ({ write }) => write('b.js', 'module.exports = 2'),
  ],
  [
    'a module that takes the place of another',
    ({ path }) => resolveOrNothing(path('module')),
    ({ write }) => write('module.js', ''),
  ],
  [
    'a missing module that is resolved',
    ({ path }) => resolveOrNothing(path('b')),
    ({ write }) => write('b.js', 'module.exports = 2'),
  ],
  [
    'a missing package',
    ({ path }) => moduleOrNothing('gone', path('a.cjs')),
    ({ write }) => write('node_modules/gone/package.json', '{}'),
  ],
  [
    'a package of the folder above',
    ({ path }) => moduleOrNothing('above', path('list/a.cjs')),
    ({ write }) => write('list/node_modules/above/package.json', '{}'),
  ],
  [
    'a module by a name in imports',
    ({ path }) => moduleOrNothing('#own', path('a.cjs')),
    ({ write }) => write('package.json', PACKAGE_LATER),
  ],
  [
    'a module by the name of its package',
    ({ path }) => moduleOrNothing('own', path('a.cjs')),
    ({ write }) => write('package.json', PACKAGE_LATER),
  ],
  [
    'a file that is opened to append to it',
    ({ path }) => readAtEnd(path('a.txt')),
    ({ write }) => write('a.txt', 'two'),
  ],
  [
    'a module that is required',
    ({ path }) => createRequire(import.meta.url)(path('a.cjs')),
    (project) => editModule(project, 'a.cjs'),
  ],
]

/** What work leaves behind, and the path that a warning names. */
const EFFECTS: readonly [name: string, work: (project: Project) => unknown, path: string][] = [
  ['it makes a file', ({ path }) => writeFileSync(path('made.txt'), ''), 'made.txt'],
  ['it makes a file by a promise', ({ path }) => writeFile(path('made.txt'), ''), 'made.txt'],
  ['it replaces a file', ({ path }) => writeFileSync(path('there.txt'), 'two'), 'there.txt'],
  ['it appends to a file', ({ path }) => appendFileSync(path('there.txt'), 'two'), 'there.txt'],
  ['it opens a file and writes', ({ path }) => writeAtStart(path('there.txt')), 'there.txt'],
  ['it removes a file', ({ path }) => rmSync(path('there.txt')), 'there.txt'],
  ['it renames a file', ({ path }) => renameSync(path('there.txt'), path('moved.txt')), 'there.txt'],
  ['it copies a file', ({ path }) => copyFileSync(path('there.txt'), path('copy.txt')), 'copy.txt'],
  ['it copies a folder', ({ path }) => cpSync(path('list'), path('copies'), { recursive: true }), 'copies/a'],
  ['it makes a link', ({ path }) => symlinkSync('there.txt', path(`link-${Math.random()}`)), 'link-'],
  ['it makes a link that leads nowhere', ({ path }) => symlinkSync('nowhere', path(`dead-${Math.random()}`)), 'dead-'],
  ['it makes a link to a folder', ({ path }) => symlinkSync('list', path(`list-${Math.random()}`)), 'list-'],
  ['it makes a file in a folder that it makes', ({ write }) => write('new/folder/made.txt', ''), 'new/folder/made.txt'],
]

/** Work that leaves nothing behind that a hit would have to make. */
const NO_EFFECTS: readonly [name: string, work: (project: Project) => unknown][] = [
  ['a file that it removes again', ({ path, write }) => (write('made.txt', ''), rmSync(path('made.txt')))],
  ['a folder', ({ path }) => mkdirSync(path('new/folder'), { recursive: true })],
  ['a file in a cache', ({ write }) => write('.cache/tool/made.txt', String(Math.random()))],
  ['a file in a cache of a package', ({ write }) => write('node_modules/.cache/tool/made.txt', String(Math.random()))],
  ['a file that it opens to write and leaves as it is', ({ path }) => closeSync(openSync(path('there.txt'), 'r+'))],
]

/** Opens a file without a new length, as databases do, and writes. */
function writeAtStart(path: string): void {
  const file = openSync(path, 'r+')
  writeSync(file, 'TWO')
  closeSync(file)
}

onEngine('native', (subject) => {
  it.each(ROWS)('a result is made again when what its work read changed: %s', async (_, work, change) => {
    const project = subject.project()
    project.write('a.txt', 'one')
    project.write('a.cjs', 'module.exports = 1')
    project.write('module/index.js', '')
    project.write('node_modules/above/package.json', '{ "main": "index.js" }')
    project.write('node_modules/above/index.js', '')
    project.write('top/a', '')
    project.write('package.json', PACKAGE)
    symlinkSync(project.path('list'), project.path('top/link'))
    await project.settle('list/a', '')
    try {
      expect(await once(subject, project, () => work(project))).toBe(1)
      expect(await once(subject, project, () => work(project))).toBe(0)
      await change(project)
      expect(await once(subject, project, () => work(project))).toBe(1)
      expect(await once(subject, project, () => work(project))).toBe(0)
    } finally {
      delete process.env['VARVETEST_READ']
      delete process.env['VARVETEST_OTHER']
    }
  })

  // Loaders of webpack read the folder of the project like a file, and each build creates the folder of its output in it.
  it('a result is stored although something appeared in a folder that its work tried to read as a file', async () => {
    const project = subject.project()
    await project.settle('list/a', '')
    const work = (): string => textOrNothing(project.path('list'))
    await withCache(subject, project, async (cache) => {
      await new Counted(cache, project.root, { trackReads: true }).run({ id: 'id' }, work)
      project.write('list/b', '')
    })
    expect(await once(subject, project, work)).toBe(0)
  })

  it('what one run read is an input of all results of the task, and why names it', async () => {
    const project = subject.project()
    await project.settle('config.json', '1')
    let config: string | undefined
    const work = (): void => void (config ??= readFileSync(project.path('config.json'), 'utf8'))
    await withCache(subject, project, async (cache) => {
      const counted = new Counted(cache, project.root, { trackReads: true })
      await counted.run({ id: 'first' }, work)
      await counted.run({ id: 'second' }, work)
    })
    expect(await once(subject, project, work, 'second')).toBe(0)
    await project.settle('config.json', '2')
    await withCache(subject, project, async (cache) => {
      const counted = new Counted(cache, project.root, { trackReads: true })
      const { outcome, differences } = await counted.task.why('second')
      expect([outcome, differences]).toMatchObject(['changed', [{ kind: 'file', name: 'config.json' }]])
      await counted.run({ id: 'second' }, work)
      expect(counted.task.stats().reasons).toEqual({ 'file config.json': 1 })
    })
  })

  it('a declared file, and the file that a run is about, are inputs of that result only', async () => {
    const project = subject.project()
    for (const name of ['one.js', 'two.js', 'one.css']) await project.settle(name, '1')
    const build = async (): Promise<string[]> => {
      const made: string[] = []
      await withCache(subject, project, async (cache) => {
        const task = cache.task('build', { root: project.root, codec: 'text', trackReads: true })
        for (const id of ['one.js', 'two.js']) {
          await task.run({ id }, (context) => {
            made.push(id)
            if (id === 'one.js') context.addFile(project.path('one.css'), readFileSync(project.path('one.css')))
            return readFileSync(project.path(id), 'utf8')
          })
        }
      })
      return made
    }
    expect(await build()).toEqual(['one.js', 'two.js'])
    expect(await build()).toEqual([])
    project.write('one.css', '2')
    expect(await build()).toEqual(['one.js'])
    project.write('two.js', '2')
    expect(await build()).toEqual(['two.js'])
  })

  it('a folder that the work makes, lists and removes is not an input', async () => {
    const project = subject.project()
    let count = 0
    const work = async (): Promise<void> => {
      const folder = project.path(`temporary/${count++}`)
      mkdirSync(join(folder, 'in'), { recursive: true })
      readdirSync(join(folder, 'in'))
      await rm(folder, { recursive: true })
    }
    await project.settle('temporary/a', '')
    expect(await once(subject, project, work)).toBe(1)
    expect(await once(subject, project, work)).toBe(0)
  })

  it('a folder that the work does not find, and removes in vain, is an input', async () => {
    const project = subject.project()
    const folder = project.path('reports')
    const work = (): unknown => {
      let names: string[] = []
      try {
        names = readdirSync(folder)
      } catch {
        // There are none.
      }
      rmSync(folder, { recursive: true, force: true })
      return names
    }
    expect(await once(subject, project, work)).toBe(1)
    expect(await once(subject, project, work)).toBe(0)
    project.write('reports/one.txt', 'one')
    expect(await once(subject, project, work)).toBe(1)
  })

  it('what one run reads and removes, other runs may have in memory', async () => {
    const project = subject.project()
    const request = project.path('request.txt')
    const build = async (): Promise<string[]> => {
      let taken: string | undefined
      const take = (): string => {
        taken ??= existsSync(request) ? readFileSync(request, 'utf8') : 'none'
        if (taken !== 'none') writeFileSync(project.path('log.txt'), taken)
        rmSync(request, { force: true })
        return taken
      }
      const results: string[] = []
      await withCache(subject, project, async (cache) => {
        const task = cache.task<string>('build', { root: project.root, codec: 'json', trackReads: true })
        for (const id of ['one', 'two']) results.push(await task.run({ id }, take))
      })
      return results
    }
    expect([await build(), await build()]).toEqual([
      ['none', 'none'],
      ['none', 'none'],
    ])
    project.write('request.txt', 'all')
    expect(await build()).toEqual(['all', 'all'])
    expect(await build()).toEqual(['none', 'none'])
  })

  it('a file that is only touched is a hit', async () => {
    const project = subject.project()
    await project.settle('a.txt', 'one')
    const work = (): unknown => readFileSync(project.path('a.txt'))
    expect(await once(subject, project, work)).toBe(1)
    await project.settle('a.txt', 'one')
    expect(await once(subject, project, work)).toBe(0)
  })

  it.each(EFFECTS)('a hit would not do what the work does, so its result is not stored: $0', async (_, work, path) => {
    const project = subject.project()
    project.write('there.txt', 'one')
    const warnings: string[] = []
    for (let build = 0; build < 2; build++) {
      const cache = await subject.open(project.dir, { onWarning: ({ message }) => warnings.push(message) })
      const counted = new Counted(cache, project.root, { trackReads: true })
      project.write('there.txt', 'one')
      project.write('list/a', '')
      await counted.run({}, () => work(project))
      expect([counted.count, counted.task.stats().notStored]).toEqual([1, 1])
      await cache.close()
    }
    expect(warnings.every((warning) => warning.includes(`its work wrote '${path}`))).toBe(true)
    expect(warnings).toHaveLength(2)
  })

  it('nothing is stored of a generation in which work writes a file after its result was made', async () => {
    const project = subject.project()
    for (let build = 0; build < 2; build++) {
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { trackReads: true })
        let late: Promise<void> | undefined
        await counted.run({}, () => {
          late = tick().then(() => writeFileSync(project.path('late.txt'), ''))
        })
        await late
        expect(counted.count).toBe(1)
      })
      rmSync(project.path('late.txt'))
    }
  })

  it('nothing is stored of a generation in which work does not wait for a file that it writes', async () => {
    const project = subject.project()
    for (let build = 0; build < 2; build++) {
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { trackReads: true })
        let written: Promise<unknown> | undefined
        await counted.run({}, () => {
          const stream = createWriteStream(project.path('unwaited.txt'))
          written = new Promise<void>((resolve) => stream.on('close', () => resolve()))
          stream.end('')
        })
        await written
        expect(counted.count).toBe(1)
      })
      rmSync(project.path('unwaited.txt'))
    }
  })

  it.each(NO_EFFECTS)('a result is stored although its work writes what decides nothing: $0', async (_, work) => {
    const project = subject.project()
    await project.settle('there.txt', 'one')
    for (const count of [1, 0]) expect(await once(subject, project, () => work(project))).toBe(count)
  })

  const secrets = [
    ['without', undefined],
    ['with', 'a secret of at least thirty-two bytes'],
  ] as const
  it.each(secrets)('the cache %s a secret is not part of a list', async (_, secret) => {
    const project = subject.project()
    const build = async (): Promise<number> => {
      const cache = await subject.open(project.dir, { secret })
      const counted = new Counted(cache, project.root, { trackReads: true })
      await counted.run({}, () => readdirSync(project.root))
      await cache.close()
      return counted.count
    }
    expect([await build(), await build()]).toEqual([1, 0])
  })

  it('a result is stored although a commit came while its work ran, and another run had read the same file', async () => {
    const project = subject.project()
    await project.settle('a.txt', 'one')
    const read = (): Buffer => readFileSync(project.path('a.txt'))
    await withCache(subject, project, async (cache) => {
      const counted = new Counted(cache, project.root, { trackReads: true })
      let goOn = (): void => {}
      const committed = new Promise<void>((resolve) => (goOn = resolve))
      const late = counted.run({ id: 'late' }, async () => {
        read()
        await committed
      })
      await counted.run({ id: 'early' }, read)
      await cache.commit()
      goOn()
      await late
    })
    for (const id of ['early', 'late']) expect(await once(subject, project, read, id), id).toBe(0)
  })

  it('a file that changes while the build runs is not stored', async () => {
    const project = subject.project()
    await project.settle('a.txt', 'one')
    await withCache(subject, project, async (cache) => {
      const counted = new Counted(cache, project.root, { trackReads: true })
      await counted.run({}, () => void readFileSync(project.path('a.txt')))
      await project.settle('a.txt', 'two')
    })
    expect(await once(subject, project, () => undefined)).toBe(1)
  })

  it('work that starts a process is not stored, and a warning gives the reason', async () => {
    const project = subject.project()
    const warnings: VarveError[] = []
    const cache = await subject.open(project.dir, { onWarning: (warning) => warnings.push(warning) })
    const counted = new Counted(cache, project.root, { trackReads: true })
    await counted.run({}, () => void execFileSync(process.execPath, ['--version']))
    await counted.run({}, () => void execFileSync(process.execPath, ['--version']))
    expect(counted.count).toBe(2)
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'UNTRACKED',
        expect.stringContaining(`results of 'counted' are not stored: it started the process '${process.execPath}'`),
      ],
    ])
    await cache.close()
  })

  it('a path with a NUL byte, which no file has, is not an input', async () => {
    const project = subject.project()
    const work = (): boolean => existsSync(project.path('\0virtual:module'))
    expect([await once(subject, project, work), await once(subject, project, work)]).toEqual([1, 0])
  })

  it('a task without trackReads records no reads', async () => {
    const project = subject.project()
    await project.settle('a.txt', 'one')
    for (const expected of [1, 0]) {
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await counted.run({}, () => void readFileSync(project.path('a.txt')))
        expect(counted.count).toBe(expected)
      })
      project.write('a.txt', 'two')
    }
  })
})
