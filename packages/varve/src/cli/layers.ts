/** `varve layers`: the layers below a cache, from VARVE_LAYERS. */
import type { Command } from 'commander'
import type { LayerReport } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { reportEach } from './open/each.ts'
import { escapeText } from './output/escape.ts'
import { findReadable, inspect } from './open/folder.ts'
import { counted, size } from './output/output.ts'

export const layersCommand: Command = command('layers', 'list the layers that VARVE_LAYERS puts below a cache').action(
  run,
)

async function run(options: CommonOptions): Promise<void> {
  const look = (dir: string): Promise<{ readonly layers: readonly LayerReport[] }> =>
    inspect(dir, async ({ session }) => ({ layers: session.call((store) => store.status()).layers }))
  await reportEach(
    'layers',
    options,
    look,
    ({ layers }) => (layers.length === 0 ? 'no layers\n' : layersText(layers)),
    findReadable,
  )
}

/** A line for each layer. */
export function layersText(layers: readonly LayerReport[]): string {
  const lines = layers.map(({ path, problem, id, entries, deletes, bytes }) => {
    const what =
      problem ?? `${id}, ${counted(entries, 'entry', 'entries')}, ${counted(deletes, 'delete')}, ${size(bytes)}`
    return `layer ${escapeText(path)}: ${what}\n`
  })
  return lines.join('')
}
