// @ts-check
// Reads all entries of a cache, byte by byte, and compares them with what the commits put.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { VarveError } from 'varve'
import { fileBytes, valueBytes } from './expected.mjs'

/** @import { Cache } from 'varve' */
/** @import { FileManifest } from 'varve/files' */
/** @import { Content } from './expected.mjs' */

/** The problems of a cache directory. */
export class Wrong extends Error {}

/** @typedef {Map<string, { number: number, isLost: boolean }>} Found by `<namespace>@<version>/<key>`: its commit, and whether its files are lost */

/**
 * @param {Cache} cache
 * @param {ReadonlyMap<string, string>} versions of the namespaces
 * @param {ReadonlyMap<string, { bytes: number, files: readonly number[] | undefined }[]>} known what may be under a key
 * @param {string} target where files are restored
 * @returns {Promise<Found>}
 */
export async function read(cache, versions, known, target) {
  /** @type {Found} */
  const found = new Map()
  for (const [space, version] of versions) {
    if (space === 'outputs') await readStored(cache, version, known, target, found)
    else readValues(cache, space, version, known, found)
  }
  return found
}

/** Values by what they must be, so that each is made once. @type {Map<string, Buffer>} */
const made = new Map()

/** @param {Parameters<typeof valueBytes>[0]} put */
function expectedValue(put) {
  const name = `${put.space}/${put.key}/${put.number}/${put.bytes}`
  const value = made.get(name) ?? valueBytes(put)
  if (made.size > 2000) made.clear()
  made.set(name, value)
  return value
}

/** @param {Cache} cache @param {string} space @param {string} version @param {ReadonlyMap<string, { bytes: number }[]>} known @param {Found} found */
function readValues(cache, space, version, known, found) {
  const namespace = cache.namespace(space, { version })
  for (const [key, value] of namespace.entries()) {
    const name = `${space}@${version}/${String(key)}`
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    const number = bytes.length < 4 ? -1 : bytes.readUInt32LE(0)
    const may = known.get(name)?.some((one) => one.bytes === bytes.length) === true
    if (!may || !bytes.equals(expectedValue({ space, key: String(key), bytes: bytes.length, number }))) {
      throw new Wrong(`${name} has bytes that nobody put: ${bytes.subarray(0, 16).toString('hex')}, ${bytes.length} in all`)
    }
    found.set(name, { number, isLost: false })
  }
  for (const name of known.keys()) {
    if (!name.startsWith(`${space}@${version}/`)) continue
    const value = namespace.get(name.slice(name.indexOf('/') + 1))
    const number = value === undefined ? undefined : Buffer.from(value.buffer, value.byteOffset, 4).readUInt32LE(0)
    if (number !== found.get(name)?.number) throw new Wrong(`${name}: get finds commit ${number}, entries ${found.get(name)?.number}`)
  }
}

/**
 * @param {Cache} cache
 * @param {string} version
 * @param {ReadonlyMap<string, { files: readonly number[] | undefined }[]>} known
 * @param {string} target
 * @param {Found} found
 */
async function readStored(cache, version, known, target, found) {
  if (![...known.keys()].some((name) => name.startsWith('outputs@'))) return
  /** @type {import('varve').Namespace<{ number: number, manifest: FileManifest }>} */
  const outputs = cache.namespace('outputs', { version, codec: 'json' })
  for (const [key, { number, manifest }] of outputs.entries()) {
    const name = `outputs@${version}/${String(key)}`
    const isWhole = await restore(cache, manifest, target)
    const isRight = (/** @type {number} */ bytes, /** @type {number} */ index) =>
      readFileSync(join(target, `f${index}`)).equals(fileBytes(String(key), number, index, bytes))
    if (isWhole && !known.get(name)?.some(({ files }) => files?.length === manifest.files.length && files.every(isRight))) {
      throw new Wrong(`the files of ${name}, commit ${number}, are not what was stored`)
    }
    found.set(name, { number, isLost: !isWhole })
  }
}

/** Whether the files could be restored. @param {Cache} cache @param {FileManifest} manifest @param {string} target */
async function restore(cache, manifest, target) {
  rmSync(target, { recursive: true, force: true })
  try {
    await cache.files.restore(manifest, target)
    return true
  } catch (error) {
    if (error instanceof VarveError && error.code === 'FILES_DAMAGED') return false
    throw error
  }
}

/** Which contents these are, by position. @param {Found} found @param {readonly Content[]} contents */
export function matchesOf(found, contents) {
  return contents.flatMap((content, index) => {
    const isSame = content.size === found.size && [...content].every(([key, { number }]) => found.get(key)?.number === number)
    return isSame ? [index] : []
  })
}

/** @param {Found} found */
export const shown = (found) => [...found].map(([key, { number }]) => `${key}=${number}`).join(' ') || 'nothing'
