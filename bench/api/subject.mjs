// @ts-check
// What a subject is: one store, ours or another's, behind the few calls that the workloads make.

/** @typedef {'relaxed' | 'durable'} Durability relaxed: survives the process; durable: on disk when the call is done */
/** @typedef {readonly [key: string, value: Uint8Array]} Entry */
/** @typedef {Uint8Array | undefined} Found the bytes, copied out, or undefined for a miss */

/**
 * One open store. A call that gives a promise is waited for, one that does not costs no turn of the event loop.
 * @typedef {object} Store
 * @property {(key: string) => Found | Promise<Found>} get
 * @property {(keys: readonly string[]) => Found[] | Promise<Found[]>} getMany
 * @property {(entries: readonly Entry[]) => unknown} commit one atomic commit, as durable as the store was opened for
 * @property {() => unknown} close
 */

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {'native' | 'wasm' | null} engine null for everybody but Varve
 * @property {string} version
 * @property {boolean} isAsync whether `get` gives a promise
 * @property {readonly string[]} [only] prefixes of the ids that it takes part in; all where it is missing
 * @property {number} [entriesMax] of a prefilled store, for one that takes a file and more for each entry
 * @property {(dir: string, durability: Durability) => Store | Promise<Store>} open makes `dir` where it is missing
 */

/** Whether the subject takes part in a workload. @param {Subject} subject @param {string} id */
export const takesPart = ({ only }, id) => only === undefined || only.some((prefix) => id.startsWith(prefix))
