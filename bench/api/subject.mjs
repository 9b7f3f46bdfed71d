// @ts-check
// A subject is one store, Varve or another, behind the calls that the workloads make.

/** @typedef {'relaxed' | 'durable'} Durability relaxed: survives a process crash; durable: on the disk when the call is done */
/** @typedef {readonly [key: string, value: Uint8Array]} Entry */
/** @typedef {Uint8Array | undefined} Found the bytes, copied out, or undefined for a miss */

/**
 * One open store. The workloads await a call only if it returns a promise, so other calls cost no turn of the event loop.
 * @typedef {object} Store
 * @property {(key: string) => Found | Promise<Found>} get
 * @property {(keys: readonly string[]) => Found[] | Promise<Found[]>} getMany
 * @property {(keys: readonly string[]) => Promise<Found[]>} [getManyAsync] reads on another thread
 * @property {(entries: readonly Entry[]) => unknown} commit one atomic commit, as durable as the store was opened for
 * @property {() => unknown} close
 */

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {'native' | 'wasm' | null} engine null for stores other than Varve
 * @property {string} version
 * @property {boolean} isAsync whether `get` returns a promise
 * @property {readonly string[]} [only] prefixes of the ids that it runs (default: all)
 * @property {number} [entriesMax] the most entries of a prefilled store, for subjects with a file or more per entry
 * @property {(dir: string, durability: Durability) => Store | Promise<Store>} open creates `dir` if it does not exist
 */

/** Whether the subject runs a workload. @param {Subject} subject @param {string} id */
export const takesPart = ({ only }, id) => only === undefined || only.some((prefix) => id.startsWith(prefix))
