/**
 * Inputs are compared with the disk by two programs: JavaScript, which is the reference, and the addon for many at once. Both give the same
 * answers for every kind of input, for what other programs do to files during a comparison, and for sets with damage.
 */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as nodePath from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect, it } from 'vitest'
import type * as load from '../../packages/varve/src/engine/load.ts'
import type * as inputs from '../../packages/varve/src/inputs/input.ts'
import type * as many from '../../packages/varve/src/inputs/many.ts'
import type * as roots from '../../packages/varve/src/inputs/root.ts'
import type * as sets from '../../packages/varve/src/inputs/set.ts'
import type * as stamps from '../../packages/varve/src/inputs/stamp.ts'
import { makeFolder } from '../folders.ts'

const source = <Module>(path: string): Promise<Module> =>
  import(new URL(`../../packages/varve/src/${path}`, import.meta.url).href) as Promise<Module>
const { loadEngine } = await source<typeof load>('engine/load.ts')
const { digestOrOther, hasStamp, hostDisk } = await source<typeof inputs>('inputs/input.ts')
const { PackedInputs } = await source<typeof many>('inputs/many.ts')
const { Root } = await source<typeof roots>('inputs/root.ts')
const { Comparison, linkTarget, storedInput } = await source<typeof sets>('inputs/set.ts')
const { lookAt, NO_STAMP, stampOf } = await source<typeof stamps>('inputs/stamp.ts')

type Disk = inputs.Disk
type Root = roots.Root
type StoredInput = sets.StoredInput

type Outcome = 'same' | 'restamped' | 'changed' | 'undecided'

/** One input, what is done to it after it was recorded, and how it then compares. */
interface Case {
  readonly kind: many.PackedKind
  /** Below a folder of this case, or absolute. */
  readonly path: string
  /** Makes what is there, in the folder of the case. */
  readonly make?: (at: (name: string) => string) => void
  readonly change?: (at: (name: string) => string) => void
  /** Recorded instead of what was found. */
  readonly digest?: string
  readonly stamp?: stamps.Stamp
  readonly expected: Outcome
  /** The addon leaves this one to JavaScript. */
  readonly isLeft?: true
}

const isRoot = process.getuid?.() === 0
const file = (name: string, content: string | Uint8Array = 'a') => {
  return (at: (name: string) => string): void => {
    fs.mkdirSync(nodePath.dirname(at(name)), { recursive: true })
    fs.writeFileSync(at(name), content)
  }
}
const both = (...steps: readonly ((at: (name: string) => string) => void)[]) => {
  return (at: (name: string) => string): void => steps.forEach((step) => step(at))
}
const touch = (name: string) => (at: (name: string) => string) => fs.utimesSync(at(name), 1e9, 1e9)
const remove = (name: string) => (at: (name: string) => string) => fs.rmSync(at(name), { recursive: true })
const link = (name: string, target: string) => (at: (name: string) => string) => {
  fs.rmSync(at(name), { force: true })
  fs.symlinkSync(target, at(name))
}
const fifo = (name: string) => (at: (name: string) => string) => void execFileSync('mkfifo', [at(name)])
const package730 = '{ "name": "p", "version" : "7.30.0" }'

const cases: Record<string, Case> = {
  'a file that stays': { kind: 'content', path: 'a', make: file('a'), expected: 'same' },
  'an empty file that stays': {
    kind: 'content',
    path: 'a',
    make: file('a', ''),
    stamp: NO_STAMP,
    expected: 'restamped',
  },
  'a file with other times': { kind: 'content', path: 'a', make: file('a'), change: touch('a'), expected: 'restamped' },
  'a file with other content of its size': {
    kind: 'module',
    path: 'a',
    make: file('a'),
    change: file('a', 'b'),
    expected: 'changed',
  },
  'a file of 64 KiB with other times': {
    kind: 'content',
    path: 'a',
    make: file('a', Buffer.alloc(65536, 'x')),
    change: touch('a'),
    expected: 'restamped',
  },
  'a file of 5 MiB with other times': {
    kind: 'content',
    path: 'node_modules/p/package.json',
    make: file('node_modules/p/package.json', `${package730}${' '.repeat(5 << 20)}`),
    change: touch('node_modules/p/package.json'),
    expected: 'restamped',
  },
  'a file that is removed': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    change: remove('a'),
    expected: 'changed',
  },
  'a missing file': { kind: 'content', path: 'a', expected: 'same' },
  'a missing file whose folder is a file': { kind: 'content', path: 'a/b', make: file('a'), expected: 'same' },
  'a missing file that appears': { kind: 'content', path: 'a', change: file('a'), expected: 'changed' },
  'a file that becomes a folder': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    change: both(remove('a'), file('a/b')),
    expected: 'changed',
  },
  'a folder read as a file': {
    kind: 'content',
    path: 'a',
    make: file('a/b'),
    change: file('a/c'),
    expected: 'restamped',
  },
  'a file that becomes a FIFO': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    change: both(remove('a'), fifo('a')),
    expected: 'changed',
  },
  'a FIFO': { kind: 'content', path: 'a', make: fifo('a'), expected: 'same' },
  'a device': { kind: 'content', path: '/dev/zero', expected: 'same' },
  'a device behind a link': { kind: 'content', path: 'a', make: link('a', '/dev/zero'), expected: 'same' },
  'a link to itself': { kind: 'content', path: 'a', make: link('a', 'a'), expected: 'same' },
  'a name that is too long': { kind: 'content', path: 'a'.repeat(5000), expected: 'same' },
  'a file that cannot be read': { kind: 'content', path: '/proc/self/mem', expected: 'same' },
  'a file that is closed to its reader': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    change: (at) => fs.chmodSync(at('a'), 0),
    expected: isRoot ? 'restamped' : 'changed',
  },
  'a file in a folder that is closed': {
    kind: 'content',
    path: 'a/b',
    make: file('a/b'),
    change: (at) => fs.chmodSync(at('a'), 0),
    expected: isRoot ? 'same' : 'changed',
  },
  'a file whose link leads to another one': {
    kind: 'content',
    path: 'a',
    make: both(file('b'), file('c', 'c'), link('a', 'b')),
    change: link('a', 'c'),
    expected: 'changed',
  },
  'a file whose time is before 1970': {
    kind: 'content',
    path: 'a',
    make: both(file('a'), (at) => void execFileSync('touch', ['-d', '1960-01-01', at('a')])),
    expected: 'same',
    isLeft: true,
  },
  'a file with a time of zero': {
    kind: 'content',
    path: 'a',
    make: both(file('a'), (at) => fs.utimesSync(at('a'), 0, 0)),
    expected: 'same',
  },
  'the manifest of a package with other times': {
    kind: 'content',
    path: 'node_modules/@s/p/package.json',
    make: file('node_modules/@s/p/package.json', package730),
    change: touch('node_modules/@s/p/package.json'),
    expected: 'restamped',
  },
  'the manifest of a package with another version': {
    kind: 'content',
    path: 'node_modules/p/package.json',
    make: file('node_modules/p/package.json', package730),
    change: file('node_modules/p/package.json', package730.replace('30', '31')),
    expected: 'changed',
  },
  'a manifest with the version of something else first': {
    kind: 'content',
    path: 'node_modules/p/package.json',
    make: file(
      'node_modules/p/package.json',
      Buffer.from(`{"version": "${'1'.repeat(31)}", "version"\u00a0:\n"1.0.0+b-_", "version": "2"}`, 'latin1'),
    ),
    stamp: NO_STAMP,
    expected: 'restamped',
  },
  'a manifest of the project': {
    kind: 'content',
    path: 'package.json',
    make: file('package.json', package730),
    stamp: NO_STAMP,
    expected: 'restamped',
  },
  'a list that stays': { kind: 'list', path: 'a', make: file('a/b'), expected: 'same' },
  'a list with other times': {
    kind: 'list',
    path: 'a',
    make: both(file('a/b'), file('a/c d\u00e4"\u2028\n\u0001\u{1f600}\uffee')),
    change: touch('a'),
    expected: 'restamped',
  },
  'a list with one name more': {
    kind: 'list',
    path: 'a',
    make: file('a/b'),
    change: file('a/c'),
    expected: 'changed',
  },
  'a list in which a file becomes a folder': {
    kind: 'list',
    path: 'a',
    make: file('a/b'),
    change: both(remove('a/b'), file('a/b/c')),
    expected: 'changed',
  },
  'a list of a file': { kind: 'list', path: 'a', make: file('a'), change: file('a', 'b'), expected: 'restamped' },
  'a list in which a cache appears': {
    kind: 'list',
    path: 'a',
    make: both(file('a/b'), file('a/other/v1-0123456789abcde/1.log'), file('a/more/v1/x.log')),
    change: both(file('a/cache/v1-0123456789abcdef/1-2.table'), file('a/next/v1/manifest-7'), touch('a')),
    expected: 'restamped',
  },
  'a list in which something like a cache appears': {
    kind: 'list',
    path: 'a',
    make: file('a/b'),
    change: file('a/cache/v1/1-.table'),
    expected: 'changed',
  },
  'a list of packages in which a hidden folder appears': {
    kind: 'list',
    path: 'node_modules',
    make: file('node_modules/p/a'),
    change: both(file('node_modules/.cache/a'), touch('node_modules')),
    expected: 'restamped',
  },
  'a list with a name that is not UTF-8': {
    kind: 'list',
    path: 'a',
    make: (at) => {
      fs.mkdirSync(at('a'))
      for (const bytes of [
        [0xff, 0x61],
        [0xe2, 0x82],
        [0xed, 0xa0, 0x80],
        [0xf0, 0x9f, 0x41],
      ])
        fs.writeFileSync(Buffer.concat([Buffer.from(`${at('a')}/`), Buffer.from(bytes)]), '')
    },
    change: touch('a'),
    expected: 'restamped',
  },
  'a tree that stays': { kind: 'tree', path: 'a', make: both(file('a/b/c'), file('a/d')), expected: 'same' },
  'a tree in which a file appears': {
    kind: 'tree',
    path: 'a',
    make: file('a/b/c'),
    change: file('a/b/d'),
    expected: 'changed',
  },
  'a tree in which packages and a repository appear': {
    kind: 'tree',
    path: 'a',
    make: file('a/b/c'),
    change: both(file('a/node_modules/p'), file('a/b/.git')),
    expected: 'same',
  },
  'a tree with links to folders and around': {
    kind: 'tree',
    path: 'a',
    make: both(file('a/b/c'), link('a/d', 'b'), link('a/b/e', '..'), link('a/f', 'nowhere')),
    expected: 'same',
  },
  'a tree of 150 folders': {
    kind: 'tree',
    path: 'a',
    make: (at) => fs.mkdirSync(at(`a/${'b/'.repeat(150)}`), { recursive: true }),
    expected: 'same',
    isLeft: true,
  },
  'a tree with a folder that is not UTF-8': {
    kind: 'tree',
    path: 'a',
    make: (at) => {
      fs.mkdirSync(at('a'))
      fs.mkdirSync(Buffer.concat([Buffer.from(`${at('a')}/`), Buffer.from([0xff])]))
    },
    expected: 'same',
  },
  'a tree of a missing folder': { kind: 'tree', path: 'a', expected: 'same' },
  'a type that stays': { kind: 'type', path: 'a', make: file('a'), change: file('a', 'b'), expected: 'same' },
  'a type that changes': {
    kind: 'type',
    path: 'a',
    make: file('a'),
    change: both(remove('a'), file('a/b')),
    expected: 'changed',
  },
  'the type of a device': { kind: 'type', path: '/dev/null', expected: 'same' },
  'a link that stays': { kind: 'link', path: 'a', make: both(file('b'), link('a', 'b')), expected: 'same' },
  'a link that leads elsewhere': {
    kind: 'link',
    path: 'a',
    make: both(file('b'), file('c'), link('a', 'b')),
    change: link('a', 'c'),
    expected: 'changed',
  },
  'a link that leads nowhere': { kind: 'link', path: 'a', make: link('a', 'b'), expected: 'same' },
  'a link that leads to the root': { kind: 'link', path: 'a', make: link('a', '.'), expected: 'same' },
  'a link to a file that is named missing and goes': {
    kind: 'link',
    path: 'a',
    make: both(file('missing'), link('a', 'missing')),
    change: remove('missing'),
    expected: 'changed',
    isLeft: true,
  },
  'a link to a name that is not UTF-8': {
    kind: 'link',
    path: 'a',
    make: (at) => {
      const target = Buffer.concat([Buffer.from(`${at('')}`), Buffer.from([0xff])])
      fs.writeFileSync(target, '')
      fs.symlinkSync(target, at('a'))
    },
    expected: 'same',
    isLeft: true,
  },
  'a digest that nobody made': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    digest: 'c',
    stamp: NO_STAMP,
    expected: 'changed',
  },
  'a digest with lone surrogates': { kind: 'type', path: 'a', digest: 'missing\ud800', expected: 'changed' },
  'an empty digest': { kind: 'content', path: 'a', make: file('a'), digest: '', stamp: NO_STAMP, expected: 'changed' },
  'a path with lone surrogates': { kind: 'content', path: 'a\ud800', make: file('a\ufffd'), expected: 'same' },
  'a path through the folder above': {
    kind: 'content',
    path: 'b/../a',
    make: both(file('a'), file('b/c')),
    expected: 'same',
  },
  'a list through a link and the folder above': {
    kind: 'list',
    path: 'b/../a',
    make: both(file('a/d'), file('c/e/f'), file('c/a/other'), link('b', 'c/e')),
    expected: 'same',
    isLeft: true,
  },
  'an empty path': { kind: 'type', path: '', expected: 'same' },
  'stamps of infinite numbers': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    stamp: [Number.POSITIVE_INFINITY, Number.MAX_VALUE, -0, Number.MIN_VALUE],
    expected: 'restamped',
  },
  'stamps that are no numbers': {
    kind: 'content',
    path: 'a',
    make: file('a'),
    stamp: [Number.NaN, Number.NaN, Number.NaN, Number.NaN],
    expected: 'restamped',
  },
}

interface Prepared {
  readonly one: Case
  readonly root: Root
  readonly input: StoredInput
}

const disk = hostDisk() as Disk
const answers: Map<string, { readonly javascript: Outcome; readonly native: Outcome }> = new Map()

beforeAll(async () => {
  await loadEngine({ engine: 'native' })
  const prepared = Object.entries(cases).map(([name, one]): [string, Case, Root] => {
    const folder = fs.realpathSync(makeFolder())
    one.make?.((path) => nodePath.join(folder, path))
    return [name, one, new Root(folder, nodePath)]
  })
  await sleep(50) // so that nothing is too young for a stamp
  const recorded = prepared.map(([name, one, root]): [string, Prepared] => [
    name,
    { one, root, input: inputOf(one, root) },
  ])
  for (const [, { one, root }] of recorded) one.change?.((path) => nodePath.join(root.folder, path))
  await sleep(50)
  for (const [name, each] of recorded) answers.set(name, { javascript: inJavaScript(each), native: nativelyOf(each) })
})

function inputOf({ kind, path, digest, stamp }: Case, root: Root): StoredInput {
  const absolute = root.absolute(path)
  const look = lookAt(fs, absolute)
  const found = storedInput(
    {
      kind,
      path: absolute,
      digest: digestOrOther(disk, kind, absolute),
      stamp: hasStamp(kind) ? stampOf(look) : NO_STAMP,
    },
    root,
  )
  return [kind, path, digest ?? found[2], ...(stamp ?? [found[3], found[4], found[5], found[6]])]
}

function inJavaScript({ root, input }: Prepared): Outcome {
  return new Comparison(disk, root, () => false, Number.POSITIVE_INFINITY).compare([input])
}

function nativelyOf({ one, root, input: [, name, digest, ...stamp] }: Prepared): Outcome {
  const target = one.kind === 'link' ? linkTarget(digest, root) : digest
  if (target === undefined) return 'undecided'
  const packed = new PackedInputs(1)
  packed.add(one.kind, root.absolute(name), target, stamp)
  const findings = packed.check(false)
  if (findings === undefined) throw new Error('the addon took it for no set')
  return outcomeOf(findings.get(0))
}

function outcomeOf(finding: many.Finding | undefined): Outcome {
  if (finding === undefined) return 'same'
  if (typeof finding === 'string') return finding
  return finding[1] === 0 ? 'same' : 'restamped' // a stamp without a time is none
}

describe('in JavaScript', () => {
  it.each(Object.entries(cases))('%s', (name, { expected }) => {
    expect(answers.get(name)?.javascript).toBe(expected)
  })
})

describe('natively', () => {
  it.each(Object.entries(cases))('%s', (name, { expected, isLeft }) => {
    expect(answers.get(name)?.native).toBe(isLeft === true ? 'undecided' : expected)
  })
})

describe('a set that is no set', () => {
  it('is refused as a whole, whatever its bytes are', () => {
    const packed = new PackedInputs(2)
    packed.add('content', '/a\0b', 'missing', NO_STAMP)
    packed.add('content', '/a', 'missing', NO_STAMP)
    expect(packed.check(false)).toBeUndefined()
    const inDigest = new PackedInputs(1)
    inDigest.add('content', '/a', 'b\0c', NO_STAMP)
    expect(inDigest.check(false)).toBeUndefined()
    expect(new PackedInputs(1).check(false)).toBeUndefined()
  })
})

describe('many inputs', () => {
  const count = 500

  /** A folder with that many files, and the set of them. */
  async function manyFiles(): Promise<{ readonly root: Root; readonly set: readonly StoredInput[] }> {
    const root = new Root(fs.realpathSync(makeFolder()), nodePath)
    const paths = Array.from({ length: count }, (_, index) => `file-${index}.js`)
    for (const path of paths) fs.writeFileSync(root.absolute(path), `content of ${path}`)
    await sleep(50)
    const set = paths.map((path): StoredInput => {
      const absolute = root.absolute(path)
      const digest = digestOrOther(disk, 'content', absolute)
      return ['content', path, digest, ...stampOf(lookAt(fs, absolute))]
    })
    return { root, set }
  }
  const compare = (root: Root, set: readonly StoredInput[]): string =>
    new Comparison(disk, root, () => false).compare(set)

  it('are compared together, and get newer stamps', async () => {
    const { root, set } = await manyFiles()
    expect(compare(root, set)).toBe('same')
    for (const [, path] of set) fs.utimesSync(root.absolute(path), 1e9, 1e9)
    await sleep(50)
    const comparison = new Comparison(disk, root, () => false)
    expect(comparison.compare(set)).toBe('restamped')
    const newer = comparison.restamped(set)
    expect(newer.map(([, , digest]) => digest)).toEqual(set.map(([, , digest]) => digest))
    expect(newer[7]?.slice(3)).toEqual(stampOf(lookAt(fs, root.absolute('file-7.js'))))
    expect(compare(root, newer)).toBe('same')
    fs.writeFileSync(root.absolute('file-400.js'), 'other')
    expect(compare(root, newer)).toBe('changed')
    expect(new Comparison(disk, root, () => false).changes(newer).map(({ name }) => name)).toEqual(['file-400.js'])
  })

  it('that are young get no newer stamps', async () => {
    const { root, set } = await manyFiles()
    for (const [, path] of set) fs.utimesSync(root.absolute(path), new Date(), new Date())
    fs.utimesSync(root.absolute('file-1.js'), Date.now() / 1000 + 3600, Date.now() / 1000 + 3600)
    await sleep(50)
    const comparison = new Comparison(disk, root, () => false)
    expect(comparison.compare(set)).toBe('restamped')
    expect(comparison.restamped(set)[1]).toEqual(set[1])
  })

  it('answer without the thread of the program', async () => {
    const { root, set } = await manyFiles()
    fs.writeFileSync(root.absolute('file-3.js'), 'other')
    const packed = new PackedInputs(count)
    for (const [, path, digest, ...stamp] of set) packed.add('content', root.absolute(path), digest, stamp)
    const findings = await packed.checkAsync(false)
    expect([...(findings ?? [])]).toEqual([[3, 'changed']])
  })
})

describe('a file that changes during a comparison', () => {
  it('gets no newer stamp from the comparison that missed the change', async () => {
    const root = new Root(fs.realpathSync(makeFolder()), nodePath)
    for (const name of ['a', 'b']) fs.writeFileSync(root.absolute(name), name)
    await sleep(50)
    const changing: Disk = {
      ...disk,
      fs: new Proxy(fs, {
        get: (target, name) =>
          name !== 'readFileSync'
            ? Reflect.get(target, name)
            : (path: string) => {
                const content = fs.readFileSync(path)
                if (path === root.absolute('b')) {
                  fs.writeFileSync(root.absolute('a'), 'A')
                  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
                }
                return content
              },
      }),
    }
    const set = ['a', 'b'].map((name): StoredInput => [
      'content',
      name,
      digestOrOther(disk, 'content', root.absolute(name)),
      ...NO_STAMP,
    ])
    const comparison = new Comparison(changing, root, () => false)
    expect(comparison.compare(set)).toBe('restamped')
    const newer = comparison.restamped(set)
    expect(new Comparison(disk, root, () => false).compare(newer)).toBe('changed')
  })

  it('never hides a change behind a newer stamp, natively', async () => {
    const root = new Root(fs.realpathSync(makeFolder()), nodePath)
    const path = root.absolute('a')
    fs.writeFileSync(path, 'A'.repeat(20_000))
    const digest = digestOrOther(disk, 'content', path)
    const program = `
      const { parentPort, workerData } = require('node:worker_threads')
      const fs = require('node:fs')
      parentPort.postMessage('begun')
      const isOver = () => Atomics.load(workerData.over, 0) === 1
      for (let turn = 0; !isOver() || turn % 2 === 1; turn++) {
        fs.writeFileSync(workerData.path, (turn % 2 ? 'B' : 'A').repeat(20000))
        Atomics.wait(workerData.over, 0, 0, turn % 5 === 0 ? 25 : 1)
      }`
    const over = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(program, { eval: true, workerData: { path, over } })
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    await new Promise((resolve) => worker.once('message', resolve))
    const stamped: StoredInput[] = []
    for (let round = 0; round < 2000 && stamped.length < 30; round++) {
      const set: StoredInput[] = [['content', 'a', digest, ...NO_STAMP]]
      const comparison = new Comparison(disk, root, () => false, 1)
      if (comparison.compare(set) === 'restamped') stamped.push(...comparison.restamped(set))
      await sleep(1)
    }
    Atomics.store(over, 0, 1)
    await ended
    expect(fs.readFileSync(path, 'utf8')[0]).toBe('B')
    expect(stamped.length).toBeGreaterThan(0)
    for (const input of stamped) expect(new Comparison(disk, root, () => false, 1).compare([input])).toBe('changed')
  })
})
