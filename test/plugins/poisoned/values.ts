/**
 * Values that no plugin stored, most of them made of one that it did: cut, extended, with lengths that lie, of other types,
 * with other methods. Each has to be a miss. Valid results with other code are not among them, because only
 * a secret distinguishes them from real results.
 */
import { pack, unpack } from '../../../packages/plugins/dist/build/pack.js'
import { pick, type Random } from '../../random.ts'

type Spoil = (random: Random, value: Buffer) => Buffer

const u32 = (...numbers: number[]): Buffer => Buffer.from(Uint32Array.from(numbers).buffer)

/** Bytes in the frame of `pack`, whatever they are. */
function framed(json: string | Buffer, ...parts: Buffer[]): Buffer {
  const blocks = [Buffer.from(json), ...parts]
  return Buffer.concat([u32(blocks.length, ...blocks.map(({ length }) => length)), ...blocks])
}

const part = '"\\u0000t0"'
const deep = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth)

/** JSON that is not a result. */
const DOCUMENTS: readonly string[] = [
  'null',
  'true',
  '0',
  '-1e999',
  '""',
  '"text"',
  '[]',
  '{}',
  '[null]',
  '{"returned":null}',
  '{"calls":[]}',
  '{"returned":null,"calls":null}',
  '{"returned":{},"calls":{"length":1e9}}',
  '{"__proto__":{"returned":"","calls":[]}}',
  '{"constructor":{"prototype":{"calls":[]}}}',
  '{"contents":1}',
  '{"content":"text","calls":[]}',
  'not JSON',
  deep('[', ']', 100_000),
  deep('{"returned":', '}', 20_000).replace(':}', ':0}'),
  `[${'0,'.repeat(100_000)}0]`,
  `{"returned":${JSON.stringify('x'.repeat(100_000))},"calls":0}`,
]

/** Bytes that are nothing. */
const RAW: readonly Spoil[] = [
  (random, value) => value.subarray(0, random(value.length)),
  (_, value) => Buffer.concat([value, Buffer.of(0)]),
  () => Buffer.alloc(0),
  (random) => Buffer.from(Array.from({ length: random(40) }, () => random(256))),
  (random) => u32(pick(random, [0, 1, 2 ** 31, 2 ** 32 - 1]), random(2 ** 32)),
  (random, value) => Buffer.concat([u32(value.readUInt32LE() + 1 + random(1000)), value.subarray(4)]),
  (random, value) =>
    Buffer.concat([value.subarray(0, 4), u32(value.readUInt32LE(4) + 1 + random(2 ** 20)), value.subarray(8)]),
]

/** Frames that hold no result. */
const FRAMED: readonly Spoil[] = [
  (random) => framed(pick(random, DOCUMENTS)),
  () => framed(`[${`${part},`.repeat(20_000)}${part}]`, Buffer.alloc(100_000, 'a')),
  () => framed(`{"returned":${part},"calls":[]}`),
  () => framed(`{"returned":${part},"calls":[]}`, Buffer.from([0xff, 0xfe])),
  () => framed('{"returned":"\\u0000b0","calls":[]}', Buffer.from('code')),
  () => framed('{"returned":"\\u0000x0","calls":[]}', Buffer.from('code')),
]

/** Values of no field. */
const WRONG: readonly (() => unknown)[] = [
  () => -1.5,
  () => [[[]]],
  () => ({ 'no such field': 1 }),
  () => ({ length: -1, size: 1e9 }),
  () => [-1, 'x', null],
  () => ({ valueOf: 'x', toString: 1 }),
]

/** Texts that a field of that name never has. */
const WRONG_TEXTS: Readonly<Record<string, readonly string[]>> = {
  method: [
    'error',
    'constructor',
    '__proto__',
    'toString',
    'resolve',
    'load',
    'setAssetSource',
    'hasOwnProperty',
    'emitfile',
    '',
  ],
  path: ['', 'a\0b'],
  referenceId: ['', '(a+)+b', '.*', 'x'.repeat(100), '__proto__.'],
  fileName: ['../evil', '/evil', './evil', 'a\0b'],
  name: ['../evil', '/evil'],
  type: ['', 'evil', 'constructor'],
  mappings: ['AA', 'AAgg', 'A!AA', 'AAAAAAAA', 'AZAA', 'ggggggggggggggE', 'DAAA', '('],
  loader: ['', 'evil', '__proto__'],
  resolveDir: ['relative', ''],
  watchFiles: ['relative'],
}

/** Fields that every result needs, and fields that a recorded message may lack. */
const NEEDED = new Set(['returned', 'calls', 'referenceId', 'mappings', 'content', 'contents', 'dependencies'])
const NOT_NEEDED = new Set(['position', 'stack'])

/** Fields that may hold anything; of the arguments of a call, the information about an emitted file. */
const FREE = new Set(['meta', 'metadata', 'detail', 'args.3'])

interface Place {
  readonly holder: object
  readonly name: string
}

/** The fields of a value that is itself in a field of the name `field`. */
function placesIn(value: unknown, field = ''): Place[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  const names = Object.keys(value).filter((name) => !FREE.has(Array.isArray(value) ? `${field}.${name}` : name))
  return names.flatMap((name) => [{ holder: value, name }, ...placesIn(Reflect.get(value, name), name)])
}

/** A real result with one field that is wrong, missing, or not known. */
function misshapen(random: Random, value: Buffer): Buffer {
  const entry: unknown = unpack(value)
  const { holder, name } = pick(random, placesIn(entry))
  const choice = random(3)
  if (choice === 1 && ('method' in holder ? !NOT_NEEDED.has(name) : NEEDED.has(name)))
    Reflect.deleteProperty(holder, name)
  else if (choice === 2 && !Array.isArray(holder))
    Reflect.set(holder, pick(random, ['evil', 'constructor', 'then', 'ast']), 1)
  else Reflect.set(holder, name, pick(random, WRONG)())
  return Buffer.from(pack(entry))
}

/** A real result in which a method, a path, a name or the like is one that it never is. */
function misnamed(random: Random, value: Buffer): Buffer {
  const entry: unknown = unpack(value)
  const places = placesIn(entry).filter(({ holder, name }) => {
    // An error may have any name, a file may not.
    return (
      Object.hasOwn(WRONG_TEXTS, name) &&
      typeof Reflect.get(holder, name) === 'string' &&
      (name !== 'name' || 'type' in holder)
    )
  })
  if (places.length === 0) return misshapen(random, value)
  const { holder, name } = pick(random, places)
  Reflect.set(holder, name, pick(random, WRONG_TEXTS[name] ?? []))
  return Buffer.from(pack(entry))
}

/** Bytes in the place of a result that `pack` made. */
export function spoiledResult(random: Random, value: Buffer): Buffer {
  const kinds: readonly Spoil[] = [pick(random, RAW), pick(random, FRAMED), misshapen, misnamed]
  return pick(random, kinds)(random, value)
}

/** JSON in the place of the record of a task. */
export function spoiledRecord(random: Random, value: Buffer): Buffer {
  const record: unknown = JSON.parse(value.toString())
  const { holder, name } = pick(random, placesIn(record))
  Reflect.set(
    holder,
    name,
    pick(random, [...WRONG, () => '', () => null, () => 'a\0b', () => '/dev/zero', () => 1e300, () => '__proto__'])(),
  )
  return pick(random, [
    Buffer.from(JSON.stringify(record)),
    value.subarray(0, random(value.length)),
    Buffer.from(pick(random, DOCUMENTS)),
  ])
}
