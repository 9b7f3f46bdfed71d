/** The recorder does not change its host: results, errors, stack traces, names and other libraries that change `node:fs`. */
import fs, { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve as resolved } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as reads from 'varve/reads'
import { ownFiles } from 'varve/internal'
import { installReads, ReadScope, uninstallReads, unrecorded } from 'varve/reads'
import { makeFolder } from '../folders.ts'

const require = createRequire(import.meta.url)
const original = { ...fs }

const noop = (): void => undefined

/** The files that `work` reads, relative to a folder that has `a.txt`. */
function filesOf(work: (path: string) => unknown): readonly string[] {
  const folder = makeFolder()
  fs.writeFileSync(join(folder, 'a.txt'), 'text')
  const scope = new ReadScope({ name: 'test', root: folder })
  scope.run(() => work(join(folder, 'a.txt')))
  scope.end()
  return scope.recorded().files.filter((file) => file === 'a.txt')
}

/** The recorder of a copy of the published package, and its folder. `change` edits the code of the copy. */
async function copyOfVarve(change = (code: string): string => code): Promise<{ copy: typeof reads; folder: string }> {
  const folder = join(makeFolder(), 'varve')
  const path = fileURLToPath(new URL('../../packages/varve/', import.meta.url))
  for (const name of ['package.json', 'dist']) fs.cpSync(join(path, name), join(folder, name), { recursive: true })
  const bundle = join(folder, 'dist/bundle')
  for (const name of fs.readdirSync(bundle))
    fs.writeFileSync(join(bundle, name), change(fs.readFileSync(join(bundle, name), 'utf8')))
  return { copy: await import(pathToFileURL(join(bundle, 'reads.js')).href), folder }
}

describe('the recorder', () => {
  beforeEach(() => uninstallReads())
  afterEach(() => uninstallReads())

  it('the recorder is installed once, and uninstalling restores every function', () => {
    const env = process.env
    expect(installReads()).toBe(installReads())
    expect(fs.readFileSync).not.toBe(original.readFileSync)
    uninstallReads()
    for (const [name, value] of Object.entries(original)) expect(Reflect.get(fs, name), name).toBe(value)
    expect(Object.getOwnPropertyDescriptor(process, 'env')).toMatchObject({ value: env, writable: true })
  })

  it('the recorder keeps the name, the length and the own properties of each function', () => {
    installReads()
    for (const [name, value] of Object.entries(original)) {
      const wrapped: unknown = Reflect.get(fs, name)
      if (typeof value !== 'function' || typeof wrapped !== 'function') continue
      expect([wrapped.name, wrapped.length]).toEqual([value.name, value.length])
      expect(Reflect.ownKeys(wrapped)).toEqual(expect.arrayContaining(Reflect.ownKeys(value)))
    }
    expect(typeof fs.realpathSync.native).toBe('function')
  })

  it('the recorder adds no line to the stack of an error, and throws the same error', () => {
    installReads()
    let error: unknown
    try {
      fs.readFileSync(join(makeFolder(), 'missing'))
    } catch (caught) {
      error = caught
    }
    expect(error).toMatchObject({ code: 'ENOENT', syscall: 'open' })
    expect(String(Reflect.get(Object(error), 'stack'))).not.toContain('reads/sink')
    expect(String(Reflect.get(Object(error), 'stack'))).toContain('host.test.ts')
  })

  it("an error that Varve's own work catches costs no stack", () => {
    installReads()
    const { prepareStackTrace } = Error
    let stacks = 0
    Error.prepareStackTrace = (error) => `${String(error)} ${(stacks += 1)}`
    try {
      expect(() => ownFiles(fs).statSync(join(makeFolder(), 'missing'))).toThrow('ENOENT')
      expect(stacks).toBe(0)
    } finally {
      Error.prepareStackTrace = prepareStackTrace
    }
  })

  it('a glob reads the folders with which its patterns begin, wherever they are', () => {
    const folder = makeFolder()
    fs.mkdirSync(join(folder, 'in'))
    // Node.js 20 has no globs, so a library in the way of graceful-fs has one.
    fs.writeFileSync(join(folder, 'library.cjs'), 'module.exports = { gracefulify() {}, globSync() {} }')
    const library: { globSync(...asked: unknown[]): void } = require(join(folder, 'library.cjs'))
    installReads()
    const scope = new ReadScope({ name: 'test', root: folder })
    scope.run(() => library.globSync(['*.md', `${folder}/deep/er/**`, '../other/*.md'], { cwd: join(folder, 'in') }))
    scope.end()
    expect(scope.recorded().files.filter((file) => !file.includes('..'))).toEqual([
      'deep/er',
      'in',
      'library.cjs',
      'other',
    ])
  })

  it('the recorder records default, named and promise functions, promisify and native variants', async () => {
    installReads()
    expect(filesOf((path) => fs.readFileSync(path))).toEqual(['a.txt'])
    expect(filesOf((path) => readFileSync(path))).toEqual(['a.txt'])
    expect(filesOf((path) => existsSync(path))).toEqual(['a.txt'])
    expect(filesOf((path) => promisify(fs.exists)(path))).toEqual(['a.txt'])
    expect(filesOf((path) => fs.promises.readFile(path))).toEqual(['a.txt'])
    expect(filesOf((path) => fs.realpathSync.native(path))).toEqual(['a.txt'])
    expect(
      filesOf((path) =>
        fs
          .createReadStream(path)
          .on('error', () => undefined)
          .destroy(),
      ),
    ).toEqual(['a.txt'])
    expect(filesOf(() => undefined)).toEqual([])
    await Promise.resolve()
  })

  it('a path is recorded resolved, however a call writes it', () => {
    const folder = makeFolder()
    const below = [
      'a.txt',
      '.a',
      '..a',
      'a..',
      '...',
      'b/a b',
      './a',
      'b/../a',
      'b/./a',
      'b//a',
      'b/',
      'b/.',
      'b/..',
      '',
    ]
    const given = [...below.map((path) => `${folder}/${path}`), `/${folder}`, 'a.txt', '..', '/', '/.', '/..']
    const recorded: string[] = []
    const none = { wrote: noop, variable: noop, variables: noop, changedVariable: noop, opaque: noop }
    const sink = { ...none, read: (_: string, path: string) => recorded.push(path) }
    installReads()?.storage.run(sink, () => {
      for (const path of given) existsSync(path)
    })
    expect(recorded).toEqual(given.map((path) => resolved(path)))
  })

  it('outside of scopes the environment can be cloned, and inside it is the same', () => {
    installReads()
    expect(structuredClone(process.env)['PATH']).toBe(process.env['PATH'])
    const scope = new ReadScope({ name: 'test', root: makeFolder() })
    scope.run(() => {
      process.env['RECORDER_TEST'] = 'set'
      expect(Object.keys(process.env)).toContain('RECORDER_TEST')
      delete process.env['RECORDER_TEST']
    })
    scope.end()
    expect('RECORDER_TEST' in process.env).toBe(false)
    expect(scope.recorded().variables).toContain('*')
  })

  it.each(['before', 'after'])('graceful-fs loaded %s it works, and is recorded', (when) => {
    const load = (): typeof fs => {
      delete require.cache[require.resolve('graceful-fs')]
      return require('graceful-fs')
    }
    const early = when === 'before' ? load() : undefined
    installReads()
    const graceful = early ?? load()
    expect(filesOf((path) => expect(graceful.readFileSync(path, 'utf8')).toBe('text'))).toEqual(['a.txt'])
    expect(filesOf((path) => graceful.readFile(path, () => undefined))).toEqual(['a.txt'])
  })

  it('files of memfs work and are no reads, loaded before or after the recorder', () => {
    const load = (): { vol: { fromJSON(files: object): void; reset(): void }; fs: typeof fs } => {
      for (const path of Object.keys(require.cache)) if (/[\\/]memfs[\\/]/.test(path)) delete require.cache[path]
      return require('memfs')
    }
    const early = load()
    installReads()
    for (const { vol, fs: memory } of [early, load()]) {
      const used = filesOf((path) => {
        vol.fromJSON({ [path]: 'in memory' })
        expect(memory.readFileSync(path, 'utf8')).toBe('in memory')
        expect(memory.readdirSync(dirname(path))).toEqual(['a.txt'])
        expect(() => memory.readFileSync(`${path}.missing`)).toThrow('ENOENT')
      })
      expect(used).toEqual([])
    }
  })

  it('an in-memory file system that falls back to the disk, as unionfs does, is recorded where it reads the disk', () => {
    installReads()
    const { vol, fs: memory }: { vol: { reset(): void }; fs: typeof fs } = require('memfs')
    vol.reset()
    const read = (path: string): string => {
      try {
        return memory.readFileSync(path, 'utf8')
      } catch {
        return fs.readFileSync(path, 'utf8')
      }
    }
    expect(filesOf((path) => expect(read(path)).toBe('text'))).toEqual(['a.txt'])
  })

  it('what recorded work began is recorded to its end, though other work ended in between', async () => {
    installReads()
    const folder = makeFolder()
    fs.writeFileSync(join(folder, 'a.txt'), 'text')
    const [scope, other] = [
      new ReadScope({ name: 'test', root: folder }),
      new ReadScope({ name: 'other', root: folder }),
    ]
    let late: Promise<void> | undefined
    scope.run(() => {
      late = new Promise((resolve) => setTimeout(resolve, 5)).then(() => void readFileSync(join(folder, 'a.txt')))
    })
    other.run(() => existsSync(folder))
    await unrecorded(async () => Promise.resolve())
    await late
    for (const one of [scope, other]) one.end()
    expect(scope.recorded().files).toContain('a.txt')
    expect(other.recorded().files).not.toContain('a.txt')
  })

  it('what work of one scope reads inside of work of another counts for both', () => {
    installReads()
    const folder = makeFolder()
    fs.writeFileSync(join(folder, 'a.txt'), 'text')
    const [outer, inner] = [
      new ReadScope({ name: 'outer', root: folder }),
      new ReadScope({ name: 'inner', root: folder }),
    ]
    outer.run(() => inner.run(() => fs.readFileSync(join(folder, 'a.txt'))))
    for (const one of [outer, inner]) one.end()
    expect(outer.recorded().files).toContain('a.txt')
    expect(inner.recorded().files).toContain('a.txt')
  })

  it('the storage of the recorder, which slows promises down, is out of use a turn after recorded work that began nothing', async () => {
    const storage = installReads()?.storage
    expect(filesOf((path) => readFileSync(path))).toEqual(['a.txt'])
    await unrecorded(async () => Promise.resolve())
    await new Promise((resolve) => setImmediate(resolve))
    expect(Reflect.get(storage ?? {}, 'enabled')).not.toBe(true)
  })

  it('functions that a library exports in an object are recorded though it took them before', () => {
    const folder = makeFolder()
    fs.writeFileSync(
      join(folder, 'adapter.cjs'),
      `const fs = require('fs'); exports.adapter = { readFileSync: fs.readFileSync }`,
    )
    const { adapter }: { adapter: Pick<typeof fs, 'readFileSync'> } = require(join(folder, 'adapter.cjs'))
    installReads()
    expect(filesOf((path) => adapter.readFileSync(path))).toEqual(['a.txt'])
    uninstallReads()
    expect(adapter.readFileSync).toBe(original.readFileSync)
  })

  it('two copies of Varve share one recorder', async () => {
    const { copy, folder } = await copyOfVarve()
    expect(copy.installReads).not.toBe(installReads)
    expect(copy.installReads()).toBe(installReads())
    fs.writeFileSync(join(folder, 'a.txt'), 'text')
    const [one, other] = [
      new ReadScope({ name: 'one', root: folder }),
      new copy.ReadScope({ name: 'other', root: folder }),
    ]
    one.run(() => other.run(() => readFileSync(join(folder, 'a.txt'))))
    other.run(() => one.run(() => existsSync(join(folder, 'b.txt'))))
    for (const scope of [one, other]) scope.end()
    expect(other.recorded().files).toContain('a.txt')
    expect(one.recorded().files).toContain('b.txt')
    copy.uninstallReads()
    expect(fs.readFileSync).toBe(original.readFileSync)
  })

  /**
   * `@varve/plugins` brings its own copy of `varve` if the project has another version, whose recorder may have another shape. The copy
   * that came second took the wrappers of the first for its own, and recorded nothing: its results were stale after any change.
   */
  it.each(['first', 'second'])(
    'copies of Varve with recorders of different shapes both record, the %s one before the other',
    async (first) => {
      const { copy, folder } = await copyOfVarve((code) => code.replaceAll(/varve\.reads\.\d+/g, '$&x'))
      const env = process.env
      const copies = first === 'first' ? [reads, copy] : [copy, reads]
      for (const { installReads: install } of copies) expect(install()).toBeDefined()
      fs.writeFileSync(join(folder, 'a.txt'), 'text')
      for (const { ReadScope: Scope } of copies) {
        const scope = new Scope({ name: 'test', root: folder })
        scope.run(() => [readFileSync(join(folder, 'a.txt')), process.env['NODE_ENV']])
        scope.end()
        expect(scope.recorded().files).toContain('a.txt')
        expect(scope.recorded().variables).toContain('NODE_ENV')
      }
      for (const { uninstallReads: uninstall } of copies.toReversed()) uninstall()
      expect(fs.readFileSync).toBe(original.readFileSync)
      expect(Object.getOwnPropertyDescriptor(process, 'env')).toMatchObject({ value: env, writable: true })
    },
  )

  it('a function that a local module keeps for itself escapes, and the module is an input', () => {
    const folder = makeFolder()
    fs.writeFileSync(
      join(folder, 'captured.cjs'),
      `const { readdirSync } = require('fs'); exports.read = (path) => readdirSync(path)`,
    )
    const { read }: { read(path: string): unknown } = require(join(folder, 'captured.cjs'))
    installReads()
    const scope = new ReadScope({ name: 'test', root: folder })
    fs.mkdirSync(join(folder, 'list'))
    scope.run(() => read(join(folder, 'list')))
    scope.end()
    expect(scope.recorded().files).toContain('captured.cjs')
    expect(scope.recorded().files).not.toContain('list')
  })
})
