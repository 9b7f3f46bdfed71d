/** `varve get <key>`: the bytes of one value. */
import type { Command } from 'commander'
import { readExactText, type Key } from '../values/bytes.ts'
import { VarveError } from '../errors.ts'
import { command, type CommonOptions } from './command.ts'
import { keyJson, namespacesOf, valueOf } from './open/entries.ts'
import { escapeKey, isPlain, unescapeKey } from './output/escape.ts'
import { findCache, findReadable, inspect } from './open/folder.ts'
import { write, writeJson } from './output/output.ts'
import { NEGATIVE } from './output/exit.ts'

interface GetOptions extends CommonOptions {
  readonly namespace?: string
  readonly raw?: boolean
}

export const getCommand: Command = command('get', 'write the value of a key to standard output')
  .argument('<key>', "the key as 'varve ls' prints it")
  .option('--namespace <name>', 'only this namespace')
  .option('--raw', 'write to a terminal even if the bytes control it')
  .action(run)

async function run(given: string, options: GetOptions): Promise<void> {
  const key = parseKey(given)
  await inspect(findCache(options.dir, findReadable), async ({ session }) => {
    for (const namespace of await namespacesOf(session, options.namespace)) {
      const { name, version } = namespace
      const value = valueOf(session, namespace, key)
      if (value === undefined) continue
      const text = readExactText(value, 0, value.length)
      if (options.json !== true) {
        if (process.stdout.isTTY && options.raw !== true && (text === undefined || !isPlain(text)))
          throw notForTerminals(key)
        return write(value)
      }
      const valueJson = text === undefined ? { valueBase64: Buffer.from(value).toString('base64') } : { value: text }
      return writeJson('get', { entry: { namespace: name, version, ...keyJson(key), ...valueJson } })
    }
    process.exitCode = NEGATIVE
    if (options.json === true) await writeJson('get', { entry: null })
    else process.stderr.write(`varve: no entry '${escapeKey(key)}'\n`)
  })
}

function notForTerminals(key: Key): VarveError {
  const way = 'write it to a file or a pipe, or see it with --json or --raw'
  return new VarveError(
    'INVALID_ARGUMENT',
    `the value of '${escapeKey(key)}' has bytes that can control a terminal; ${way}`,
  )
}

/** The key from the command line. Throws INVALID_ARGUMENT for an invalid escape. */
export function parseKey(given: string): Key {
  try {
    return unescapeKey(given)
  } catch (error) {
    throw new VarveError('INVALID_ARGUMENT', error instanceof Error ? error.message : String(error), { cause: error })
  }
}
