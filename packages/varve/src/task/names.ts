/** Names of the namespaces of a task. Their entries count as those of one group wherever Varve reports what a cache is about. */

/** The records of results: what they depend on, by id. */
export const RECORDS_PREFIX = 'task:'
/** The results. */
export const RESULTS_PREFIX = 'result:'
/** What the work of the task has read. */
export const READS_PREFIX = 'reads:'

/**
 * What the values of another namespace consist of, by its name: `parts:<namespace>` has entries with the same keys, each a list of path, bytes and
 * milliseconds, for tools that store many results in one value. `varve view` shows these instead of the values.
 */
export const PARTS_PREFIX = 'parts:'

/** The group of a namespace: `task:<name>` for those of a task, that of the values for parts, otherwise the namespace itself. */
export function groupOf(namespace: string): string {
  if (namespace.startsWith(PARTS_PREFIX)) return namespace.slice(PARTS_PREFIX.length)
  const prefix = [RESULTS_PREFIX, READS_PREFIX].find((each) => namespace.startsWith(each))
  return prefix === undefined ? namespace : `${RECORDS_PREFIX}${namespace.slice(prefix.length)}`
}
