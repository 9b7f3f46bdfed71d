// @ts-check
// Three models of file systems. Each defines what a sync makes durable, and in which combinations the operations that were
// not synced may have reached the disk.
//
//   weakest  syncing a file keeps its bytes, and syncing a folder keeps its names. Everything else that is pending may
//            happen or not, in any order, and sectors may be zero
//   ext4     names and lengths change in order, and any sync writes all earlier changes of them. Bytes of other files are
//            written at any time, for each file from its beginning
//   strict   a strict reading of POSIX: a name needs a sync of its folder, but the changes of one file, and of one folder,
//            happen in order
import { dirname } from 'node:path'
import { mix } from './random.mjs'
import { aFew, many } from './tears.mjs'

/** @import { Operation, SyncOperation } from './operations.mjs' */
/** @import { Tear } from './tears.mjs' */

/** @typedef {'weakest' | 'ext4' | 'strict'} ModelName */
/** @typedef {true | false | Tear} Fate happened, did not happen, or did in part */
/** @typedef {{ position: number, operation: Exclude<Operation, { kind: 'sync' | 'mark' }>, isFileSynced: boolean }} Pending */
/** @typedef {{ label: string, fates: readonly Fate[] }} Plan a fate for each pending operation */

/**
 * @typedef {object} Model
 * @property {(pending: Pending, sync: SyncOperation & { begin: number }) => boolean} settles whether a sync makes it durable
 * @property {(pending: readonly Pending[], seed: number, random: number) => Plan[]} plans
 */

const isName = (/** @type {Pending} */ { operation }) => operation.kind === 'name'
const isData = (/** @type {Pending} */ { operation }) => operation.kind !== 'name'

/** What has to stay in order in the strict model. @param {Pending} pending */
const objectOf = ({ operation }) => (operation.kind === 'name' ? `names in ${dirname(operation.path)}` : `file ${operation.inode}`)

/** @param {Pending} pending @param {SyncOperation & { begin: number }} sync */
function settlesOwn({ position, operation }, sync) {
  if (sync.only !== undefined) return position === sync.only
  if (operation.end > sync.begin) return false
  if (sync.isFolder) return operation.kind === 'name' && (dirname(operation.path) === (sync.path === '' ? '.' : sync.path))
  return operation.kind !== 'name' && operation.inode === sync.inode
}

/** @param {Pending} pending @param {SyncOperation & { begin: number }} sync */
function settlesJournal(pending, sync) {
  const isMetadata = pending.operation.kind !== 'write'
  return (isMetadata && pending.operation.end <= sync.begin) || settlesOwn(pending, sync)
}

/** @type {Record<ModelName, Model>} */
export const MODELS = {
  weakest: { settles: settlesOwn, plans: weakestPlans },
  ext4: { settles: settlesJournal, plans: ext4Plans },
  strict: { settles: settlesOwn, plans: strictPlans },
}

/** @param {readonly Pending[]} pending @param {string} label @param {(one: Pending, index: number) => Fate} fate @returns {Plan} */
const plan = (pending, label, fate) => ({ label, fates: pending.map(fate) })

/** @param {readonly Pending[]} pending @param {number} seed @param {number} random @returns {Plan[]} */
function weakestPlans(pending, seed, random) {
  const plans = [plan(pending, 'none', () => false)]
  if (pending.length === 0) return plans
  plans.push(plan(pending, 'all', () => true), plan(pending, 'only names', isName), plan(pending, 'only bytes', isData))
  for (const [index, one] of pending.entries()) {
    plans.push(plan(pending, `all but ${index}`, (_, at) => at !== index))
    plans.push(plan(pending, `only ${index}`, (_, at) => at === index))
    if (isData(one)) plans.push(plan(pending, `names and ${index}`, (other, at) => at === index || isName(other)))
  }
  for (const [index, tear] of tearsOf(pending, seed)) {
    plans.push(plan(pending, `${index} torn`, (_, at) => (at === index ? tear : true)))
    plans.push(plan(pending, `names and ${index} torn`, (other, at) => (at === index ? tear : isName(other))))
  }
  for (let i = 0; i < random; i++) plans.push(plan(pending, `mixture ${i}`, (one, at) => mixture(one, mix(seed, i, at), mix(seed, i, 999))))
  // Some file systems keep the name of a file that was synced although its folder was not.
  const named = plans.filter(({ fates }) => pending.some((one, at) => one.isFileSynced && fates[at] === false))
  const keeping = (/** @type {Plan} */ { label, fates }) =>
    plan(pending, `${label}, names of synced files`, (one, at) => one.isFileSynced || (fates[at] ?? false))
  return [...plans, ...named.map(keeping)]
}

/** @param {Pending} one @param {number} dice @param {number} level @returns {Fate} */
function mixture({ operation }, dice, level) {
  if (operation.kind === 'write' && dice % 5 === 0) {
    const tears = aFew(operation.offset, operation.bytes.length, dice)
    return tears[mix(dice, 1) % tears.length] ?? false
  }
  return mix(dice, 2) % 8 < 1 + (level % 7)
}

/** @param {readonly Pending[]} pending @param {number} seed @returns {[index: number, tear: Tear][]} */
function tearsOf(pending, seed) {
  const newest = pending.findLastIndex(({ operation }) => operation.kind === 'write')
  return pending.flatMap(({ operation }, index) => {
    if (operation.kind !== 'write') return []
    const tears = (index === newest ? many : aFew)(operation.offset, operation.bytes.length, mix(seed, index))
    return tears.map((tear) => /** @type {[number, Tear]} */ ([index, tear]))
  })
}

/**
 * A beginning of all changes of names and lengths, and bytes of some files.
 * @param {readonly Pending[]} pending
 * @param {number} seed
 * @param {number} random
 * @returns {Plan[]}
 */
function ext4Plans(pending, seed, random) {
  const journal = pending.flatMap((one, index) => (one.operation.kind === 'write' ? [] : [index]))
  const isWrite = (/** @type {Pending} */ { operation }) => operation.kind === 'write'
  const files = [...new Set(pending.filter(isWrite).map(objectOf))]
  /** @type {Plan[]} */
  const plans = []
  for (let length = 0; length <= journal.length; length++) {
    const last = journal[length - 1] ?? -1
    const add = (/** @type {string} */ label, /** @type {(one: Pending) => boolean} */ keeps) => {
      plans.push(plan(pending, `journal ${length}, ${label}`, (one, at) => (isWrite(one) ? keeps(one) : at <= last)))
    }
    add('all bytes', () => true)
    add('no bytes', () => false)
    for (const file of files.length > 1 ? files : []) {
      add(`only ${file}`, (one) => objectOf(one) === file)
      add(`all but ${file}`, (one) => objectOf(one) !== file)
    }
  }
  for (const [index, tear] of tearsOf(pending, seed).filter(([, { zeros }]) => zeros === undefined)) {
    plans.push(plan(pending, `${index} torn`, (one, at) => tornAt(pending, index, tear, one, at, true)))
    plans.push(plan(pending, `only ${index} torn`, (one, at) => tornAt(pending, index, tear, one, at, false)))
  }
  const ordered = (/** @type {Pending} */ one) => (isWrite(one) ? objectOf(one) : 'journal')
  for (let i = 0; i < random; i++) plans.push(inOrder(pending, `mixture ${i}`, mix(seed, i), ordered))
  return plans
}

/**
 * One write torn, nothing after it in its file, all names, and other bytes or not.
 * @param {readonly Pending[]} pending
 * @param {number} index
 * @param {Tear} tear
 * @param {Pending} one
 * @param {number} at
 * @param {boolean} others
 * @returns {Fate}
 */
function tornAt(pending, index, tear, one, at, others) {
  if (at === index) return tear
  const torn = pending[index]
  if (torn !== undefined && objectOf(torn) === objectOf(one)) return at < index
  return one.operation.kind === 'write' ? others : true
}

/** @param {readonly Pending[]} pending @param {number} seed @param {number} random @returns {Plan[]} */
function strictPlans(pending, seed, random) {
  const plans = [plan(pending, 'none', () => false)]
  if (pending.length === 0) return plans
  plans.push(plan(pending, 'all', () => true), plan(pending, 'only names', isName), plan(pending, 'only bytes', isData))
  for (const [index, cut] of pending.entries()) {
    const object = objectOf(cut)
    plans.push(plan(pending, `${object} up to ${index}, the rest`, (one, at) => (objectOf(one) === object ? at < index : true)))
    plans.push(plan(pending, `${object} with ${index}, nothing else`, (one, at) => (objectOf(one) === object ? at <= index : false)))
    plans.push(plan(pending, `${object} with ${index}, names`, (one, at) => (objectOf(one) === object ? at <= index : isName(one))))
  }
  for (const [index, tear] of tearsOf(pending, seed).filter(([, { zeros }]) => zeros === undefined)) {
    plans.push(plan(pending, `${index} torn`, (one, at) => tornAt(pending, index, tear, one, at, true)))
    plans.push(plan(pending, `names and ${index} torn`, (one, at) => tornAt(pending, index, tear, one, at, false)))
  }
  for (let i = 0; i < random; i++) plans.push(inOrder(pending, `mixture ${i}`, mix(seed, i), objectOf))
  return plans
}

/**
 * Of each object a beginning of random length.
 * @param {readonly Pending[]} pending
 * @param {string} label
 * @param {number} seed
 * @param {(one: Pending) => string} objectOfOne
 * @returns {Plan}
 */
function inOrder(pending, label, seed, objectOfOne) {
  const objects = new Map()
  for (const one of pending) objects.set(objectOfOne(one), (objects.get(objectOfOne(one)) ?? 0) + 1)
  const left = new Map([...objects].map(([object, count], index) => [object, mix(seed, index) % (count + 1)]))
  return plan(pending, label, (one) => {
    const object = objectOfOne(one)
    const count = left.get(object) ?? 0
    left.set(object, count - 1)
    if (count > 0) return true
    const { operation } = one
    // The first that did not happen may have begun to.
    if (count < 0 || operation.kind !== 'write' || mix(seed, objects.size, count) % 2 === 0) return false
    return aFew(operation.offset, operation.bytes.length, seed).find(({ zeros }) => zeros === undefined) ?? false
  })
}
