// @ts-check
// Uses every kind of call of a cache, and prints what failed. Arguments: engine, directory, and what is odd about this program.
import { mkdtempSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from '../../packages/varve/dist/index.js'

const [, , engine = 'auto', dir = '', odd = ''] = process.argv

/** @param {{ readonly prototype: object }} of @param {() => unknown} toJSON */
function extend({ prototype }, toJSON) {
  Object.defineProperty(prototype, 'toJSON', { value: toJSON })
}

/** @type {Record<string, () => void>} */
const ODDITIES = {
  'enumerable property': () => Object.assign(Object.prototype, { extra: () => 'extra', index: 7 }),
  'toJSON of arrays': () => extend(Array, () => 'array'),
  'toJSON of objects': () => extend(Object, () => undefined),
  'toJSON of strings': () => extend(String, () => 7),
  'clock with a fraction': () => void (Date.now = () => 1_700_000_000_000.25),
  'clock without a time': () => void (Date.now = () => Number.NaN),
  'clock of infinity': () => void (Date.now = () => Infinity),
  'clock of text': () => void Object.assign(Date, { now: () => 'now' }),
  'clock that throws': () =>
    void (Date.now = () => {
      throw new Error('no clock')
    }),
  'performance without a time': () => void (performance.now = () => Number.NaN),
  'frozen prototypes': () =>
    [Object, Array, Error, Map, Promise, Uint8Array].forEach((each) => Object.freeze(each.prototype)),
  'elements of all arrays': () => void Object.assign(Array.prototype, { 3: 'planted' }),
  'another JSON': () => void Object.assign(JSON, { parse: () => 'fake', stringify: () => 'fake' }),
  'another Buffer': () => void Object.assign(globalThis, { Buffer: function Buffer() {} }),
  'no crypto': () => void Object.defineProperty(globalThis, 'crypto', { value: undefined }),
  'removed directory': () => {
    const folder = mkdtempSync(join(tmpdir(), 'varve-removed-'))
    process.chdir(folder)
    rmdirSync(folder)
  },
}
ODDITIES[odd]?.()

/** @type {string[]} */
const failed = []
/** @param {string} what @param {() => unknown} call */
async function attempt(what, call) {
  try {
    return await call()
  } catch (error) {
    failed.push(`${what}: ${error instanceof Error ? `${'code' in error ? error.code : ''} ${error.message}` : error}`)
    return undefined
  }
}

const opened = await attempt('open', () =>
  openCache({ name: 'odd', dir, ...(engine === 'native' || engine === 'wasm' ? { engine } : {}), onWarning() {} }),
)
if (opened !== undefined) {
  const cache = /** @type {import('varve').Cache} */ (opened)
  const value = { list: [1, { deep: ['text'] }], text: 'text' }
  for (const codec of /** @type {const} */ (['json', 'v8'])) {
    const namespace = cache.namespace(codec, { codec })
    await attempt(`put ${codec}`, () => namespace.put('key', value))
    await attempt(`commit ${codec}`, () => cache.commit())
    const found = /** @type {typeof value | undefined} */ (await attempt(`get ${codec}`, () => namespace.get('key')))
    const deep = /** @type {{ deep: string[] } | undefined} */ (found?.list[1])
    if (found?.text !== 'text' || deep?.deep[0] !== 'text' || found.list[0] !== 1)
      failed.push(`get ${codec} is not what was put`)
  }
  const bytes = cache.namespace('bytes')
  await attempt('put bytes', () => bytes.put('key', new Uint8Array([1, 2, 3])))
  const read = /** @type {Uint8Array | undefined} */ (await attempt('get bytes', () => bytes.get('key')))
  if (read?.[2] !== 3 || read.length !== 3) failed.push('get bytes is not what was put')
  const task = cache.task('task', { version: '1', root: join(dir, '..') })
  for (let time = 0; time < 2; time++) {
    const result = await attempt('run', () => task.run({ id: 'id', inputs: { value } }, () => ({ result: 'text' })))
    if (/** @type {{ result: string } | undefined} */ (result)?.result !== 'text')
      failed.push('run is not what was made')
  }
  await attempt('many', () => cache.namespace('json', { codec: 'json' }).getMany(['key', 'other']))
  const file = join(dir, '..', 'file.txt')
  await attempt('write', () => writeFileSync(file, 'text'))
  const manifest = await attempt('store', () => cache.files.store(file))
  if (manifest !== undefined) {
    const target = join(dir, '..', 'restored')
    await attempt('restore', () => cache.files.restore(/** @type {never} */ (manifest), target))
    await attempt('restore again', () => cache.files.restore(/** @type {never} */ (manifest), target, { clean: true }))
    await attempt('archive', () => cache.files.exportTar(/** @type {never} */ (manifest), join(dir, '..', 'a.tar')))
    await attempt('verify files', () => cache.files.verify(/** @type {never} */ (manifest)))
  }
  await attempt('stats', () => cache.stats())
  await attempt('flush', () => cache.flush())
  await attempt('compact', () => cache.compact())
  await attempt('status', () => cache.status())
  await attempt('history', () => cache.history())
  await attempt('close', () => cache.close())
}
console.log(failed.length === 0 ? 'sound' : failed.join('\n'))
