/** Describes the caches of all plugins to `npx varve`, in the words of their users. The command imports it if it is installed. */
import type { DescribeCache, Description } from 'varve/cli-json'
import { describeWebpack } from './webpack/describe.ts'
import { withoutRoot } from './build/root.ts'

/** Describes the namespaces that plugins have written. */
export const describe: DescribeCache = (namespaces) => [...describeWebpack(namespaces), ...describeTasks(namespaces)]

/** The calls that plugins cache, each with a task of its own. */
const CALL = /^(?:task|result):(.+) (?:resolveId|load|transform|renderChunk|chain)$/
const READS = /^reads:(.+)$/

/** The namespace of `build/digest.ts`. */
const EXPLANATIONS = 'inputs'

/** One description for each plugin. */
const describeTasks: DescribeCache = (namespaces) => {
  const plugins = new Map<string, string[]>()
  for (const name of namespaces) {
    const [, plugin] = CALL.exec(name) ?? []
    if (plugin !== undefined) plugins.set(plugin, [...(plugins.get(plugin) ?? []), name])
  }
  const reads = namespaces.filter((name) => plugins.has(READS.exec(name)?.[1] ?? ''))
  const explanations = plugins.size > 0 ? namespaces.filter((name) => name === EXPLANATIONS) : []
  const internal = [...reads, ...explanations]
  return [
    ...Array.from(plugins, ([title, names]): Description => ({ title, namespaces: names, subjectOf: moduleOf })),
    ...(internal.length === 0
      ? []
      : [{ title: 'notes of plugins', namespaces: internal, isInternal: true, subjectOf: () => undefined }]),
  ]
}

/** The key of a result is its id, NUL and a digest; the id of a module that a plugin makes begins with NUL, which no user knows. */
function moduleOf(namespace: string, key: string): { readonly kind: string; readonly path: string } {
  const id = namespace.startsWith('result:') ? key.slice(0, Math.max(key.lastIndexOf('\0'), 0)) : key
  return { kind: 'module', path: withoutRoot(id).replace(/^\0/, '') }
}
