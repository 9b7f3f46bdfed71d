// @ts-check
// The folders that a crash could leave: reads a recording once. After each operation it has the durable state and the
// pending operations, and applies each plan of the model to them.
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { MODELS } from './models.mjs'
import { mix } from './random.mjs'
import { remains, SECTOR_BYTES } from './tears.mjs'

/** @import { Fate, ModelName, Pending } from './models.mjs' */
/** @import { Image, Operation } from './operations.mjs' */
/** @import { Tear } from './tears.mjs' */

/** @typedef {{ operation: Pending['operation'], position: number, fate: Fate }} Step what became of an operation */

/**
 * @typedef {object} State
 * @property {number} number its place in the order of all states of a recording and a model
 * @property {number} prefix how many operations had been made
 * @property {string} label which plan
 * @property {boolean} isWhole every operation happened: the state after a process crash without a power failure
 * @property {string} digest of names and bytes
 * @property {() => Map<string, Buffer | null>} files by path; `null` is a folder
 */

/** Bytes of files by what happened to them, so that each is made and digested once. */
class Files {
  /** @type {Map<string, { bytes: Buffer, digest: string }>} */
  #known = new Map()
  #base

  /** @param {Image} base */
  constructor(base) {
    this.#base = base
  }

  /** @param {number} inode @param {readonly Step[]} steps */
  get(inode, steps) {
    const part = (/** @type {Step} */ { position, fate }) => (fate === true ? position : `${position}${JSON.stringify(fate)}`)
    const recipe = `${inode} ${steps.map((step) => part(step)).join(' ')}`
    let file = this.#known.get(recipe)
    if (file === undefined) {
      if (this.#known.size > 3000) this.#known.clear()
      const bytes = contentOf(this.#base.contents.get(inode) ?? Buffer.alloc(0), steps)
      file = { bytes, digest: createHash('sha1').update(bytes).digest('hex') }
      this.#known.set(recipe, file)
    }
    return file
  }
}

/** @param {Buffer} base @param {readonly Step[]} steps */
function contentOf(base, steps) {
  let bytes = base
  for (const { operation, fate } of steps) {
    if (operation.kind === 'resize') {
      bytes = Buffer.concat([bytes.subarray(0, operation.length), Buffer.alloc(Math.max(0, operation.length - bytes.length))])
    }
    if (operation.kind !== 'write') continue
    const { offset } = operation
    const torn = typeof fate === 'object' ? fitted(fate, offset, bytes.length) : undefined
    const next = Buffer.alloc(Math.max(bytes.length, offset + (torn?.cut ?? operation.bytes.length)))
    bytes.copy(next)
    const pieces = torn === undefined ? [[0, operation.bytes.length]] : remains(torn, offset, operation.bytes.length)
    for (const [from = 0, to = 0] of pieces) operation.bytes.copy(next, offset + from, from, to)
    bytes = next
    // A sector is written as it is in memory at that moment, so nothing after a cut inside of one can be there.
    if (torn?.cut !== undefined && (offset + torn.cut) % SECTOR_BYTES !== 0) break
  }
  return bytes
}

/**
 * A cut inside of a sector is where the file ends; in a file that goes on, that sector is whole or as it was.
 * @param {Tear} tear
 * @param {number} offset
 * @param {number} length
 * @returns {Tear}
 */
function fitted(tear, offset, length) {
  if (tear.cut === undefined || offset + tear.cut >= length) return tear
  return { cut: Math.max(0, Math.floor((offset + tear.cut) / SECTOR_BYTES) * SECTOR_BYTES - offset) }
}

/**
 * @param {{ base: Image, operations: readonly Operation[] }} recording
 * @param {ModelName} modelName
 * @param {number} seed
 * @param {number} random mixtures at each point
 * @returns {Generator<State>}
 */
export function* statesOf({ base, operations }, modelName, seed, random) {
  const model = MODELS[modelName]
  const files = new Files(base)
  /** @type {Step[]} */
  const durable = []
  /** @type {Pending[]} */
  let pending = []
  let number = 0
  for (let prefix = 0; prefix <= operations.length; prefix++) {
    const operation = operations[prefix - 1]
    if (operation?.kind === 'sync') {
      const sync = operation
      const settled = pending.filter((one) => model.settles(one, sync))
      durable.push(...settled.map(({ position, operation: done }) => ({ position, operation: done, fate: true })))
      pending = pending.filter((one) => !settled.includes(one))
      for (const one of pending) one.isFileSynced ||= !sync.isFolder && one.operation.kind === 'name' && one.operation.inode === sync.inode
    } else if (operation !== undefined && operation.kind !== 'mark') {
      pending.push({ position: prefix - 1, operation, isFileSynced: false })
    }
    // An acknowledgement or a sync counts from the next operation that changes something.
    const next = operations[prefix]
    if (operation?.kind === 'mark' && next?.kind === 'mark') continue
    for (const { label, fates } of model.plans(pending, mix(seed, prefix), random)) {
      const happened = pending.map((one, at) => ({ position: one.position, operation: one.operation, fate: fates[at] ?? false }))
      const steps = [...durable, ...happened.filter(({ fate }) => fate !== false)]
      const isWhole = fates.every((fate) => fate === true)
      yield { number: number++, prefix, label, isWhole, ...played(base, steps, files) }
    }
  }
}

/** @param {Image} base @param {readonly Step[]} steps @param {Files} files */
function played(base, steps, files) {
  const names = namesAfter(base, steps)
  /** @type {Map<number, Step[]>} */
  const byFile = new Map()
  for (const step of [...steps].sort((a, b) => a.position - b.position)) {
    if (step.operation.kind === 'name') continue
    const known = byFile.get(step.operation.inode)
    if (known === undefined) byFile.set(step.operation.inode, [step])
    else known.push(step)
  }
  const isFolder = (/** @type {number} */ inode) => base.contents.get(inode) === null || names.folders.has(inode)
  const hash = createHash('sha1')
  const paths = [...names.names.keys()].sort()
  const content = (/** @type {number} */ inode) => (isFolder(inode) ? null : files.get(inode, byFile.get(inode) ?? []))
  for (const path of paths) hash.update(`${path}\0${content(names.names.get(path) ?? 0)?.digest ?? 'folder'}\0`)
  const list = () => new Map(paths.map((path) => [path, content(names.names.get(path) ?? 0)?.bytes ?? null]))
  return { digest: hash.digest('hex'), files: list }
}

/** The names that are left, without those in folders that are not there. @param {Image} base @param {readonly Step[]} steps */
function namesAfter(base, steps) {
  const names = new Map(base.names)
  const folders = new Set()
  for (const { operation } of [...steps].sort((a, b) => a.position - b.position)) {
    if (operation.kind !== 'name') continue
    if (operation.isFolder === true) folders.add(operation.inode)
    if (operation.from !== undefined && names.get(operation.from) === operation.inode) names.delete(operation.from)
    if (operation.inode === undefined) names.delete(operation.path)
    else names.set(operation.path, operation.inode)
  }
  for (const path of [...names.keys()].sort()) {
    const parent = dirname(path)
    if (parent !== '.' && !names.has(parent)) names.delete(path)
  }
  return { names, folders }
}

/** Everything that happened, played to the end. @param {Image} base @param {readonly Operation[]} operations */
export function namesOf(base, operations) {
  const steps = operations.flatMap((operation, position) =>
    operation.kind === 'sync' || operation.kind === 'mark' ? [] : [{ operation, position, fate: /** @type {const} */ (true) }])
  return played(base, steps, new Files(base)).files()
}
