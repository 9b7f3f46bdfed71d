/** `varve clear`: removes every entry of a namespace, as one commit. */
import type { Command } from 'commander'
import { writeKey } from '../values/key.ts'
import { command, type CommonOptions } from './command.ts'
import { keysOf, namespacesOf } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { change, findCache } from './open/folder.ts'
import { counted, size, write, writeJson } from './output/output.ts'
import { withProgress } from './output/progress.ts'

interface ClearOptions extends CommonOptions {
  readonly namespace: string
}

export const clearCommand: Command = command('clear', 'remove all entries of a namespace; builds may run meanwhile')
  .requiredOption('--namespace <name>', 'the namespace to clear')
  .action(run)

async function run(options: ClearOptions): Promise<void> {
  const dir = findCache(options.dir)
  await change(dir, async ({ session }) => {
    const namespaces = await namespacesOf(session, options.namespace)
    let entries = 0
    for (const { namespace, key } of keysOf(session, namespaces)) {
      session.call((store) => {
        const keyBytes = writeKey(session.scratchOf(store), key)
        store.delete(store.namespace(namespace.name, namespace.version), keyBytes)
      })
      entries += 1
    }
    if (entries > 0) await session.run(async (store) => store.commit('relaxed'))
    const report = await withProgress('compact', (control) => session.run((store) => store.compact(false, control)))
    const { bytesBefore, bytesAfter } = report
    if (options.json === true)
      return writeJson('clear', { dir, namespace: options.namespace, entries, bytesBefore, bytesAfter })
    const removed = `${counted(entries, 'entry', 'entries')} of '${escapeText(options.namespace)}' removed`
    await write(`${escapeText(dir)}\n${removed}, ${size(bytesBefore)} -> ${size(bytesAfter)}\n`)
  })
}
