/** `varve files ls`: manifests and what they come to, or the contents themselves. */
import type { Command } from 'commander'
import type { FilesLsJson } from '../../cli-json.ts'
import { Files } from '../../files/files.ts'
import { command, type CommonOptions } from '../command.ts'
import { keyJson, namespacesOf } from '../open/entries.ts'
import { escapeKey, escapeText } from '../output/escape.ts'
import { findCache, findReadable, inspect } from '../open/folder.ts'
import { counted, size, writeJson, writeJsonList, writeLines } from '../output/output.ts'
import { manifestsOf, totalsOf, V8_OPTION } from './manifests.ts'

interface LsOptions extends CommonOptions {
  readonly namespace?: string
  readonly stored?: boolean
  readonly v8?: boolean
}

export const filesLsCommand: Command = command('ls', 'list manifests: number of files, bytes, namespace and key')
  .option('--namespace <name>', 'only this namespace')
  .option('--stored', 'list the stored files instead: bytes and digest')
  .option(...V8_OPTION)
  .action(run)

async function run(options: LsOptions): Promise<void> {
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    if (options.stored === true) {
      const stored = await new Files(session, true).list()
      if (options.json === true) return writeJson('files ls --stored', { contents: stored })
      return writeLines(
        stored,
        ({ digest, size: bytes }) => `${size(bytes).padStart(10)}  ${digest}`,
        'no stored files',
      )
    }
    const found = manifestsOf(session, await namespacesOf(session, options.namespace), options.v8 === true)
    if (options.json === true) return writeJsonList('manifests', jsonOf(found))
    await writeLines(
      found,
      ({ namespace, key, manifest }) => {
        const { entries, bytes } = totalsOf(manifest)
        const totals = `${counted(entries, 'file').padStart(12)}  ${size(bytes).padStart(10)}`
        return `${totals}  ${escapeText(namespace.name)}  ${escapeKey(key)}`
      },
      'no manifests',
    )
  })
}

function* jsonOf(found: ReturnType<typeof manifestsOf>): Generator<FilesLsJson['manifests'][number]> {
  for (const { namespace, key, manifest } of found) {
    yield {
      namespace: namespace.name,
      version: namespace.version,
      ...keyJson(key),
      ...totalsOf(manifest),
      files: manifest.files,
    }
  }
}
