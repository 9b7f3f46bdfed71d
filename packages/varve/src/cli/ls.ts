/** `varve ls`: the keys of a cache. */
import type { Command } from 'commander'
import { command, type CommonOptions } from './command.ts'
import { entriesOf, keyJson, namespacesOf, type RawEntry, wholeNumber } from './entries.ts'
import { escapeKey, escapeText } from './escape.ts'
import { findCache, inspect } from './folder.ts'
import { size, write, writeJsonList } from './output.ts'

interface LsOptions extends CommonOptions {
  readonly namespace?: string
  readonly long?: boolean
  readonly limit?: number
}

export const lsCommand: Command = command('ls', 'keys of a cache, in the order of their hashes')
  .option('--namespace <name>', 'of this namespace only')
  .option('--long', 'with namespace and size of the value')
  .option('--limit <count>', 'at most so many', wholeNumber)
  .action(run)

async function run(options: LsOptions): Promise<void> {
  await inspect(findCache(options.dir), async ({ session }) => {
    const namespaces = await namespacesOf(session, options.namespace)
    const entries = firstOf(entriesOf(session, namespaces), options.limit ?? Number.POSITIVE_INFINITY)
    if (options.json === true) return writeJsonList(jsonOf(entries))
    for (const { namespace, key, value } of entries) {
      const long = `${size(value.length).padStart(10)}  ${escapeText(namespace.name)}  `
      await write(`${options.long === true ? long : ''}${escapeKey(key)}\n`)
    }
  })
}

function* jsonOf(entries: Iterable<RawEntry>): Generator<object> {
  for (const { namespace, key, value } of entries) {
    yield { namespace: namespace.name, version: namespace.version, ...keyJson(key), valueBytes: value.length }
  }
}

function* firstOf<T>(items: Iterable<T>, count: number): Generator<T> {
  let left = count
  if (left <= 0) return
  for (const item of items) {
    yield item
    left -= 1
    if (left <= 0) return
  }
}
