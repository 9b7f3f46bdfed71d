// @ts-check
// Ways to damage a cache folder. A case is a text, so that it can be replayed:
//
//   flip FILE BYTE BIT      cut FILE BYTES        lose FILE
//   zero FILE PAGE          copy FILE FROM TO     swap FILE PAGE PAGE       pages of 4 KiB
//   foreign FILE            the file of that name of another cache
//   older FILE GENERATION   the file of that name, or the manifest, as it was that many rounds ago
const PAGE_BYTES = 4096

/** @typedef {import('./folder.mjs').Folder} Folder */
/** @typedef {import('../random.mjs').Random} Random */
/** @typedef {{ folder: Folder, other: Folder, generations: readonly Folder[] }} Donors the cache, another one, its past */

/** The folder after a case; undefined if the case changes nothing. @param {Donors} donors @param {string} text @returns {Folder | undefined} */
export function damaged({ folder, other, generations }, text) {
  const [kind = '', file = '', first = '', second = ''] = text.split(' ')
  const good = folder.get(file)
  if (good === undefined) throw new Error(`there is no file of case '${text}'`)
  if (kind === 'lose') return new Map([...folder].filter(([name]) => name !== file))
  const bytes =
    changed(kind, good, Number(first), Number(second)) ??
    donated(kind, file, kind === 'foreign' ? other : generations[Number(first)])
  return bytes === undefined || bytes.equals(good) ? undefined : new Map([...folder, [file, bytes]])
}

/** @param {string} kind @param {Buffer} good @param {number} first @param {number} second @returns {Buffer | undefined} */
function changed(kind, good, first, second) {
  const bytes = Buffer.from(good)
  const page = (/** @type {number} */ index) => good.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES)
  if (kind === 'flip') bytes[first] = (bytes[first] ?? 0) ^ (1 << second)
  else if (kind === 'cut') return bytes.subarray(0, first)
  else if (kind === 'zero') bytes.fill(0, first * PAGE_BYTES, Math.min((first + 1) * PAGE_BYTES, bytes.length))
  else if (kind === 'copy') bytes.set(page(first).subarray(0, page(second).length), second * PAGE_BYTES)
  else if (kind === 'swap') {
    if (page(first).length !== page(second).length) return good
    bytes.set(page(first), second * PAGE_BYTES)
    bytes.set(page(second), first * PAGE_BYTES)
  } else return undefined
  return bytes
}

/** @param {string} kind @param {string} file @param {Folder | undefined} donor @returns {Buffer | undefined} */
function donated(kind, file, donor) {
  if (kind !== 'foreign' && kind !== 'older') throw new Error(`unknown kind of damage '${kind}'`)
  if (!file.startsWith('manifest-')) return donor?.get(file)
  return [...(donor ?? [])].find(([name]) => name.startsWith('manifest-'))?.[1]
}

/** Flips, every file as often as any other. @param {Folder} folder @param {Random} random @param {number} count */
export function flips(folder, random, count) {
  const files = [...folder].filter(([, bytes]) => bytes.length > 0)
  return Array.from({ length: count }, (_, index) => {
    const [name = '', bytes = Buffer.alloc(0)] = files[index % files.length] ?? []
    return `flip ${name} ${random(bytes.length)} ${random(8)}`
  })
}

/** Everything else that changes something. @param {Donors} donors @param {Random} random @param {{ cuts: number, pairs: number }} most */
export function otherDamage(donors, random, { cuts, pairs }) {
  const cases = [...donors.folder].flatMap(([name, bytes]) => {
    const pages = Math.ceil(bytes.length / PAGE_BYTES)
    const some = (/** @type {number} */ count, /** @type {() => string} */ one) => Array.from({ length: count }, one)
    return [
      `lose ${name}`,
      `cut ${name} 0`,
      `cut ${name} ${bytes.length - 1}`,
      `foreign ${name}`,
      ...some(Math.min(cuts, bytes.length), () => `cut ${name} ${random(bytes.length)}`),
      ...Array.from({ length: Math.min(pages, 64) }, (_, page) => `zero ${name} ${page}`),
      ...donors.generations.map((_, generation) => `older ${name} ${generation}`),
      ...some(pages < 2 ? 0 : Math.min(pairs, pages * 2), () => `copy ${name} ${random(pages)} ${random(pages)}`),
      ...some(pages < 2 ? 0 : Math.min(pairs, pages), () => `swap ${name} ${random(pages)} ${random(pages)}`),
    ]
  })
  return [...new Set(cases)].filter((text) => damaged(donors, text) !== undefined)
}

/** Whether a file has a log's name. @param {string} text a case */
export const isOfLog = (text) => /^\w+ \d+(-\d+)?\.(log|taken)\b/.test(text)
