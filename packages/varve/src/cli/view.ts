/** `varve view`: a page about the caches, served on this machine or written to a file. `@varve/view` has the page. */
import { type Command, InvalidArgumentError } from 'commander'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { VarveError } from '../errors.ts'
import { intoPlace } from '../files/spool.ts'
import { command, type CommonOptions } from './command.ts'
import { pathOf, wholeNumber } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { findReadable } from './open/folder.ts'
import { cannotWrite, withProgress, write, writeJson } from './output/output.ts'
import { disk } from '../host/disk.ts'

const PORT_MAX = 65_535

interface ViewOptions extends CommonOptions {
  readonly out?: string
  readonly port: number
  readonly root?: string
  readonly verify?: boolean
}

export const viewCommand: Command = command(
  'view',
  'show the caches on a page in the browser, or write the page to a file',
)
  .option('--out <file>', 'write one file with everything in it instead of serving the page', pathOf)
  .option('--port <number>', 'port of the server; 0 is any free one', portOf, 0)
  .option('--root <directory>', 'root of the tasks (default: the directory above that has their files)', pathOf)
  .option('--verify', 'with --out or --json: read every byte and report damage')
  .action(run)

async function run({ dir, json, out, port, root, verify = false }: ViewOptions): Promise<void> {
  findReadable(dir) // a directory without a cache is an error before anything else
  const { ViewSource } = await import('./view/source.ts')
  const source = new ViewSource(dir, root)
  if (json === true) return writeJson('view', await withProgress('view', (control) => source.report(verify, control)))
  const { loadView } = await import('./view/source.ts')
  const view = await loadView()
  if (out !== undefined) {
    const page = view.reportPage(await withProgress('view', (control) => source.report(verify, control)))
    await writePage(out, page)
    return write(`${escapeText(out)}\n`)
  }
  const server = await view.serve(source, { port }).catch((error: unknown) => Promise.reject(cannotServe(port, error)))
  await write(`${server.url}\nCtrl-C ends the server.\n`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await server.close()
}

/** Writes the file completely or not at all. Others may not read it: it has names and keys of the project. */
async function writePage(out: string, page: string): Promise<void> {
  try {
    await intoPlace(resolve(out), (to, creates) =>
      disk.promises.writeFile(to, page, { flag: creates ? 'wx' : 'w', mode: 0o600 }),
    )
  } catch (error) {
    throw cannotWrite(out, error)
  }
}

function cannotServe(port: number, error: unknown): VarveError {
  const { message } = error instanceof Error ? error : new Error(String(error))
  return new VarveError('IO', `cannot serve the page on port ${port}: ${message}. Choose another with --port`, {
    cause: error,
  })
}

/** A port in the arguments. */
function portOf(text: string): number {
  if (wholeNumber(text) <= PORT_MAX) return wholeNumber(text)
  throw new InvalidArgumentError(`'${text}' is not a port: expected 0 to ${PORT_MAX}.`)
}
