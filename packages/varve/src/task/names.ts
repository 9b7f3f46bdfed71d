/** Names of the namespaces of a task. Their entries count as those of one group wherever Varve reports what a cache is about. */

/** The records of results: what they depend on, by id. */
export const RECORDS_PREFIX = 'task:'
/** The results. */
export const RESULTS_PREFIX = 'result:'
/** What the work of the task has read. */
export const READS_PREFIX = 'reads:'

/** The beginning of the name of an input that is an installed package. */
export const PACKAGE_INPUT = 'package '

/** The group of a namespace: `task:<name>` for those of a task, otherwise the namespace itself. */
export function groupOf(namespace: string): string {
  const prefix = [RESULTS_PREFIX, READS_PREFIX].find((each) => namespace.startsWith(each))
  return prefix === undefined ? namespace : `${RECORDS_PREFIX}${namespace.slice(prefix.length)}`
}
