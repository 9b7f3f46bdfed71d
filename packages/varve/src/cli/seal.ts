/** `varve seal`: writes each cache as a layer, which other caches are opened over. */
import type { Command } from 'commander'
import { basename, dirname, resolve } from 'node:path'
import type { SealReport } from '../reports.ts'
import { domainOf, sealIn, untrustedIn } from '../health/domain.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach, inspect } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { counted, size } from './output/output.ts'
import { withProgress } from './output/progress.ts'
import { disk } from '../host/disk.ts'

interface SealCommandOptions extends CommonOptions {
  readonly since?: readonly string[]
}

export const sealCommand: Command = command(
  'seal',
  'write each cache as a layer <out>/<name of the cache>, for VARVE_LAYERS',
)
  .argument('<out>', 'a directory; it must not have a layer of these caches')
  .option(
    '--since <directory>',
    'write only what differs from the layers there; several times, the newest first',
    collect,
  )
  .action(run)

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

async function run(out: string, { since = [], ...options }: SealCommandOptions): Promise<void> {
  const seal = (dir: string): Promise<SealReport & { readonly layer: string }> => {
    const name = basename(dir)
    const layer = resolve(domainOf(dir) === 'trusted' ? out : untrustedIn(out), name)
    // A base without a layer of this cache was sealed before its tool was used.
    const base = since
      .map((path) => resolve(path, name))
      .filter((path) => disk.existsSync(path) || !disk.existsSync(dirname(path)))
    return inspect(dir, async ({ session, domain }) => {
      const report = await sealIn(domain, layer, () =>
        withProgress('seal', (control) => session.run((store) => store.seal(layer, base, control))),
      )
      return { ...report, layer }
    })
  }
  await reportEach('seal', options, seal, ({ layer, id, entries, deletes, bytes }) => {
    const what = `${counted(entries, 'entry', 'entries')}, ${counted(deletes, 'delete')}, ${size(bytes)}`
    return `layer ${escapeText(layer)}: ${id}, ${what}\n`
  })
}
