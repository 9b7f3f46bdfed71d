// @ts-check
// What writers promise and readers check. A slot is a writer: one process after another. Its commit of number n writes n
// under all keys of its group, and adds one key that is never removed.
//
//   `<slot> 0..3`   `<n> <number acknowledged before> <padding>`
//   `<slot> pad`    sometimes, twice: enough to make a commit write tables. Readers skip it, because reading long values is slow.
//   `<slot> #<n>`   `<n>`
//   `<slot> file`   sometimes, a value that is a file. It is not compared with the other keys: only some commits write it, and
//                   readers of an older state miss it once it is overwritten and its file is collected.

export const KEYS = 4

/** Values of this many bytes and more are stored as files. */
const FILE_BYTES = 1024 * 1024
/** More characters of padding than these are not read again and again. */
const READ_MAX = 1000

/** @typedef {'native' | 'wasm'} Engine */

/** @param {number} slot @returns {Engine} */
export const engineOf = (slot) => (slot % 2 === 0 ? 'native' : 'wasm')

/**
 * Buffers a commit.
 * @param {import('varve').Namespace<string>} space
 * @param {number} slot @param {number} number @param {number} acknowledged @param {number} padding characters
 */
export function putGroup(space, slot, number, acknowledged, padding) {
  const isFile = padding >= FILE_BYTES
  if (isFile) space.put(`${slot} file`, `${number} ${'x'.repeat(padding)}`)
  const isLong = padding > READ_MAX
  const pads = isLong && !isFile ? 2 : 0
  for (let pad = 0; pad < pads; pad++) space.put(`${slot} pad${pad}`, `${number} ${'x'.repeat(2 * padding)}`)
  const value = `${number} ${acknowledged} ${'x'.repeat(isLong ? 10 : padding)}`
  for (let key = 0; key < KEYS; key++) space.put(`${slot} ${key}`, value)
  space.put(`${slot} #${number}`, String(number))
}

/** One reader: remembers what it saw. */
export class Watcher {
  reads = 0
  /** Times that a group had a new number. */
  news = 0
  /** @type {string[]} */
  violations = []
  /** @type {number[]} lowest number that must be there, by slot */
  #floors
  /** @type {string[]} */
  #keys = []
  #isStrict
  #last = ''

  /**
   * @param {number} slots @param {number} [repeats] how often one `getMany` asks for each key
   * @param {boolean} [isStrict] what was seen stays, acknowledged or not: if every writer and compactor can test locks
   */
  constructor(slots, repeats = 1, isStrict = false) {
    this.#isStrict = isStrict
    this.#floors = Array.from({ length: slots }, () => 0)
    for (let slot = 0; slot < slots * repeats; slot++) {
      for (let key = 0; key < KEYS; key++) this.#keys.push(`${slot % slots} ${key}`)
    }
  }

  /**
   * Reads all groups. `isSame`: nothing may have changed since the last time.
   * @param {import('varve').Namespace<string>} space @param {boolean} isSame
   */
  check(space, isSame) {
    const all = space.getMany(this.#keys)
    this.reads += all.length
    const distinct = this.#floors.length * KEYS
    const differs = all.findIndex((value, index) => value !== all[index % distinct])
    if (differs >= 0) this.violations.push(`one getMany, two answers: ${all[differs]} and ${all[differs % distinct]}`)
    const values = all.slice(0, distinct).map((value) => value?.slice(0, 24))
    const now = values.join('|')
    if (isSame && now !== this.#last) this.violations.push(`one state, two answers: ${this.#last} and ${now}`)
    const isNew = now !== this.#last
    this.#last = now
    if (!isNew) return
    for (let slot = 0; slot < this.#floors.length; slot++)
      this.#checkGroup(slot, values.slice(slot * KEYS, (slot + 1) * KEYS))
  }

  /** @param {number} slot @param {(string | undefined)[]} values */
  #checkGroup(slot, values) {
    const [first = ''] = values
    if (values.some((value) => (value ?? '') !== first))
      this.violations.push(`a mixture in slot ${slot}: ${values.join(' | ')}`)
    const [number = 0, acknowledged = 0] = first.split(' ').map(Number)
    const floor = this.#floors[slot] ?? 0
    if (number < floor) this.violations.push(`slot ${slot} went back from ${floor} to ${number}`)
    if (number > floor) this.news++
    // A process without locks takes logs of writers that live: what was appended to one and not acknowledged may be seen, go
    // with the log, and come again.
    this.#floors[slot] = Math.max(floor, this.#isStrict ? number : acknowledged)
  }
}

/**
 * What of acknowledged commits is not there.
 * @param {import('varve').Namespace<string>} space @param {ReadonlyMap<number, readonly number[]>} acknowledged by slot
 */
export function missingOf(space, acknowledged) {
  const keys = [...acknowledged].flatMap(([slot, numbers]) => numbers.map((number) => `${slot} #${number}`))
  const values = space.getMany(keys)
  return keys.filter((key, index) => values[index] !== key.slice(key.indexOf('#') + 1))
}
