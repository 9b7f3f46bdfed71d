// @ts-check
// The timed loops. Each subject gets its own copy of this module (`loopsOf`). So V8 compiles the loop for the one store
// it calls, as in a program that uses one store. `js/get/shared` measures one loop for all subjects.

/** @typedef {import('./subject.mjs').Store} Store */
/** @typedef {typeof import('./loops.mjs')} Loops */

/** @param {string} name of the subject @returns {Promise<Loops>} */
export const loopsOf = (name) => import(`./loops.mjs?subject=${name}`)

/**
 * Returns the bytes of all values found.
 * @param {Store} store
 * @param {readonly string[]} keys
 */
export function getAll(store, keys) {
  let bytes = 0
  for (const key of keys) {
    const found = /** @type {import('./subject.mjs').Found} */ (store.get(key))
    if (found !== undefined) bytes += found.length
  }
  return bytes
}

/**
 * Like `getAll`, for stores that return promises.
 * @param {Store} store
 * @param {readonly string[]} keys
 */
export async function getAllAsync(store, keys) {
  let bytes = 0
  for (const key of keys) {
    const found = await store.get(key)
    if (found !== undefined) bytes += found.length
  }
  return bytes
}

/**
 * Returns the bytes of all values found in batches.
 * @param {Store} store
 * @param {readonly (readonly string[])[]} batches
 */
export async function getBatches(store, batches) {
  let bytes = 0
  for (const keys of batches) {
    const answer = store.getMany(keys)
    const values = answer instanceof Promise ? await answer : answer
    for (const found of values) if (found !== undefined) bytes += found.length
  }
  return bytes
}

/**
 * Makes one commit for each batch.
 * @param {Store} store
 * @param {readonly (readonly import('./subject.mjs').Entry[])[]} batches
 */
export async function commitBatches(store, batches) {
  for (const entries of batches) {
    const done = store.commit(entries)
    if (done instanceof Promise) await done
  }
}
