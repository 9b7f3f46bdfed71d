/** `varve view`: a page about the caches, served on this machine or written to a file. `@varve/view` has the page. */
import type { Command } from 'commander'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { command, type CommonOptions } from './command.ts'
import { pathOf, wholeNumber } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { findReadable } from './open/folder.ts'
import { write, writeJson } from './output/output.ts'
import { withProgress } from './output/progress.ts'

interface ViewOptions extends CommonOptions {
  readonly out?: string
  readonly port: number
  readonly root?: string
  readonly verify?: boolean
}

export const viewCommand: Command = command('view', 'show the caches on a page in the browser, or write the page to a file')
  .option('--out <file>', 'write one file with everything in it instead of serving the page', pathOf)
  .option('--port <number>', 'port of the server; 0 is any free one', wholeNumber, 0)
  .option('--root <directory>', 'root of the tasks (default: the project directory)', pathOf)
  .option('--verify', 'with --out or --json: read every byte and report damage')
  .action(run)

async function run({ dir, json, out, port, root, verify = false }: ViewOptions): Promise<void> {
  findReadable(dir) // a directory without a cache is an error before anything else
  const { ViewSource } = await import('./view/source.ts')
  const source = new ViewSource(dir, root)
  if (json === true) return writeJson('view', await withProgress('view', (control) => source.report(verify, control)))
  const { loadView } = await import('./view/module.ts')
  const view = await loadView()
  if (out !== undefined) {
    await writeFile(out, view.reportPage(await withProgress('view', (control) => source.report(verify, control))))
    return write(`${escapeText(out)}\n`)
  }
  const server = await view.serve(source, { port })
  await write(`${server.url}\nCtrl-C ends the server.\n`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await server.close()
}
