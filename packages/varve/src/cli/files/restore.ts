/** `varve files restore <key> <target>`: puts the files of a manifest into a directory. */
import { type Command, Option } from 'commander'
import type { RestoreMode } from '../../engine/files.ts'
import { VarveError } from '../../errors.ts'
import { Files } from '../../files/files.ts'
import { command, type CommonOptions } from '../command.ts'
import { namespacesOf, pathOf } from '../open/entries.ts'
import { escapeKey, escapeText } from '../output/escape.ts'
import { NEGATIVE } from '../output/exit.ts'
import { findCache, findReadable, inspect } from '../open/folder.ts'
import { counted, write, writeJson } from '../output/output.ts'
import { withCount } from '../output/progress.ts'
import { manifestsOf, V8_OPTION } from './manifests.ts'

interface RestoreOptions extends CommonOptions {
  readonly namespace?: string
  readonly mode: RestoreMode
  readonly clean?: boolean
  readonly v8?: boolean
}

export const filesRestoreCommand: Command = command('restore', 'write the files of a manifest to a directory')
  .argument('<key>', "the key as 'varve files ls' prints it")
  .argument('<target>', 'the directory, which is created if necessary', pathOf)
  .option('--namespace <name>', 'only this namespace')
  .addOption(
    new Option('--mode <mode>', 'how files are created')
      .choices(['auto', 'reflink', 'hardlink', 'copy'])
      .default('auto'),
  )
  .option('--clean', 'remove everything that the manifest does not have')
  .option(...V8_OPTION)
  .action(run)

async function run(given: string, target: string, options: RestoreOptions): Promise<void> {
  const report = await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    const files = new Files(session, true)
    const all = manifestsOf(session, await namespacesOf(session, options.namespace), options.v8 === true)
    const found = [...all].filter(({ key }) => escapeKey(key) === given)
    const [first, ...others] = found
    if (others.length > 0) {
      const names = found.map(({ namespace }) => `'${namespace.name}'`).join(', ')
      throw new VarveError(
        'INVALID_ARGUMENT',
        `there are several manifests '${given}'; choose one with --namespace: ${names}`,
      )
    }
    if (first === undefined) return undefined
    const { mode, clean = false } = options
    return withCount('restore', (watch) => files.restore(first.manifest, target, { ...watch, mode, clean }))
  })
  if (report === undefined) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('files restore', { report: report ?? null })
  if (report === undefined) return void process.stderr.write(`varve: no manifest '${escapeText(given)}'\n`)
  const { entries, unchanged, removed } = report
  await write(
    `${counted(entries, 'file')}: ${unchanged} unchanged, ${entries - unchanged} written, ${removed} others removed\n`,
  )
}
