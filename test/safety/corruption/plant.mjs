// @ts-check
// Foreign files in a cache directory. A form is a text: the kind of file and its name, for example `fifo newest-manifest`.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { frameOf } from './forge.mjs'

/** File names by their role, for the folder `v1`. @param {readonly string[]} paths those of the cache */
function placesIn(paths) {
  const find = (/** @type {RegExp} */ pattern) => paths.find((path) => pattern.test(path)) ?? 'none'
  return {
    'newer-manifest': 'manifest-99',
    'next-manifest': `manifest-${Number(find(/^manifest-/).slice(9)) + 1}`,
    'newest-manifest': find(/^manifest-/),
    'highest-manifest': 'manifest-18446744073709551615',
    'older-manifest': 'manifest-0',
    'manifest-tmp': 'manifest.3.tmp',
    'next-log': `${Math.max(...paths.map((path) => Number(/^(\d+)\.log$/.exec(path)?.[1] ?? 0))) + 1}.log`,
    'a-log': find(/\.log$/),
    'far-log': '16777100.log',
    'last-log': '4294967295.log',
    'a-taken': '2-9.taken',
    'a-table': find(/\.table$/),
    'other-table': '99-99.table',
    'a-file': find(/^files\/..\/[0-9a-f]{64}$/),
    'files-folder': 'files',
    bad: '0.log.bad',
    notes: 'notes.txt',
  }
}

const KINDS = /** @type {const} */ ([
  'fifo',
  'folder',
  'full-folder',
  'socket',
  'device',
  'link-out',
  'link-self',
  'link-nowhere',
  'link-zero',
  'link-folder',
  'sparse',
  'empty',
  'noise',
])
const PLACES = Object.keys(placesIn([]))

/** Forms that are no kind at a place. */
const SPECIAL = [
  'many',
  'names',
  'v2',
  'newer-format manifest',
  'newer-format log',
  'dir-is-file',
  'dir-is-fifo',
  'v1-is-file',
  'v1-is-fifo',
  'v1-is-link-self',
  'v1-is-link-nowhere',
  'v1-is-socket',
  'files-is-fifo',
  'shard-is-fifo',
  'shard-is-link',
  'unreadable manifest',
  'unreadable log',
  'unreadable table',
  'unreadable v1',
]

/** Whether the engine only reports a form and never opens it. @param {string} form */
export const mayRefuse = (form) => /^(dir-is|v1-is|newer-format|unreadable)/.test(form)

export const FORMS = [...PLACES.flatMap((place) => KINDS.map((kind) => `${kind} ${place}`)), ...SPECIAL]

/**
 * Plants a form in the cache at `dir`; `outside` is a folder that must not change. Returns why it cannot be
 * planted here, if so.
 * @param {string} dir @param {readonly string[]} paths of the files of the cache @param {string} form @param {string} outside
 * @returns {string | undefined}
 */
export function plant(dir, paths, form, outside) {
  const [kind = '', place = ''] = form.split(' ')
  const places = /** @type {Record<string, string>} */ (placesIn(paths))
  const name = places[place]
  if (name !== undefined) return putAt(kind, join(dir, 'v1', name), outside)
  const [what, as] = kind.split('-is-')
  if (as !== undefined) {
    const spots = {
      dir,
      v1: join(dir, 'v1'),
      files: join(dir, 'v1', 'files'),
      shard: join(dir, 'v1', dirname(places['a-file'] ?? '')),
    }
    return putAt(
      as === 'link' ? 'link-folder' : as === 'file' ? 'noise' : as,
      spots[/** @type {keyof typeof spots} */ (what)],
      outside,
    )
  }
  return putSpecial(kind, dir, join(dir, 'v1'), places, place)
}

/** @param {string} kind @param {string} path @param {string} outside @returns {string | undefined} */
function putAt(kind, path, outside) {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(dirname(path), { recursive: true })
  const links = {
    'link-out': join(outside, 'manifest-1'),
    'link-self': path,
    'link-nowhere': join(outside, 'nowhere'),
    'link-zero': '/dev/zero',
    'link-folder': outside,
  }
  const target = links[/** @type {keyof typeof links} */ (kind)]
  if (target !== undefined) symlinkSync(target, path)
  else if (kind === 'fifo') return made('mkfifo', [path])
  else if (kind === 'device') return made('mknod', [path, 'c', '1', '5'])
  else if (kind === 'socket')
    return made('python3', ['-c', 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])', path])
  else if (kind.endsWith('folder')) mkdirSync(path)
  else writeFileSync(path, kind === 'noise' ? 'none of our processes wrote this '.repeat(99) : '')
  if (kind === 'full-folder') writeFileSync(join(path, 'inside.txt'), 'inside')
  return kind === 'sparse' ? grow(path) : undefined
}

/** As long as the file system lets a file be: 8 EiB, or 16 TiB. @param {string} path @returns {string | undefined} */
function grow(path) {
  for (const bytes of [2 ** 63 - 4096, 2 ** 44 - 4096, 2 ** 40]) {
    try {
      if (bytes > Number.MAX_SAFE_INTEGER)
        execFileSync('truncate', [`--size=${BigInt(bytes)}`, path], { stdio: 'ignore' })
      else truncateSync(path, bytes)
      return undefined
    } catch {
      // The next length is for file systems with smaller files.
    }
  }
  return 'no file system for sparse files'
}

/** @param {string} command @param {string[]} args @returns {string | undefined} */
function made(command, args) {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return undefined
  } catch (error) {
    return `${command}: ${error instanceof Error ? error.message : error}`
  }
}

/**
 * @param {string} kind
 * @param {string} dir
 * @param {string} v1
 * @param {Record<string, string>} places
 * @param {string} place
 * @returns {string | undefined}
 */
function putSpecial(kind, dir, v1, places, place) {
  if (kind === 'many')
    for (let index = 0; index < 100_000; index++) closeSync(openSync(join(v1, `stray-${index}`), 'w'))
  else if (kind === 'names') strangeNames(v1)
  else if (kind === 'v2') {
    mkdirSync(join(dir, 'v2'))
    writeFileSync(join(dir, 'v2', 'manifest-1'), 'of the future')
  } else if (kind === 'newer-format') {
    const isLog = place === 'log'
    writeFileSync(
      join(v1, isLog ? (places['next-log'] ?? '') : (places['next-manifest'] ?? '')),
      frameOf(isLog ? 'VLOG' : 'VMAN', 2n, numberIn(places, place), Buffer.from('of the future')),
    )
  } else if (kind === 'unreadable') {
    const name = place === 'v1' ? '.' : (places[place === 'manifest' ? 'newest-manifest' : `a-${place}`] ?? '')
    chmodSync(join(v1, name), 0o000)
  } else throw new Error(`no form '${kind}'`)
  return undefined
}

/** @param {Record<string, string>} places @param {string} place */
const numberIn = (places, place) =>
  BigInt(/\d+/.exec(places[place === 'log' ? 'next-log' : 'next-manifest'] ?? '')?.[0] ?? 0)

/** Names that are too long for a path, not UTF-8, or look like more than they are. @param {string} v1 */
function strangeNames(v1) {
  const prefix = Buffer.from(`${v1}/`)
  const raw = [
    Buffer.from([0xff, 0xfe, 0x2e, 0x6c, 0x6f, 0x67]),
    Buffer.from('a'.repeat(255)),
    Buffer.from('manifest-\u202e1'),
    Buffer.from('line\nbreak.log'),
  ]
  for (const name of raw) writeFileSync(Buffer.concat([prefix, name]), 'stray')
  for (const name of [
    'manifest-',
    'manifest-01',
    'manifest--1',
    '1.2.log',
    '-1.log',
    '00.log',
    '1-.table',
    '.tmp',
    '\u001b[31mred.table',
    `${'9'.repeat(200)}.log`,
  ]) {
    writeFileSync(join(v1, name), 'stray')
  }
  if (readdirSync(v1).length < raw.length) throw new Error('the names are not there')
}
