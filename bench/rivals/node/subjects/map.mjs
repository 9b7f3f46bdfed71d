// @ts-check
// Not a store but a floor: a Map of this process, from which `get` copies, as it does from every store. Its ratios show what the loop,
// the call and the copy cost.

/** @type {Map<string, Map<string, Uint8Array>>} by directory: filled entries stay when a workload opens it again */
const folders = new Map()

/** @type {import('../../../api/subject.mjs').Subject} */
export const map = {
  name: 'map',
  engine: null,
  version: process.version,
  isAsync: false,
  only: ['js/get/'],
  open(dir) {
    const entries = folders.get(dir) ?? new Map()
    folders.set(dir, entries)
    const copy = (/** @type {Uint8Array | undefined} */ value) => (value === undefined ? value : Buffer.from(value))
    return {
      get: (key) => copy(entries.get(key)),
      getMany: (keys) => keys.map((key) => copy(entries.get(key))),
      commit(batch) {
        for (const [key, value] of batch) entries.set(key, value)
      },
      close: () => undefined,
    }
  },
}
