/** `varve export --layer`: writes each cache as a layer, which other caches are opened over. */
import { basename, dirname, resolve } from 'node:path'
import type { SealReport } from '../reports.ts'
import { domainOf, sealIn, untrustedIn } from '../health/domain.ts'
import type { CommonOptions } from './command.ts'
import { reportEach, inspect } from './open/folder.ts'
import { escapeText } from './output/escape.ts'
import { counted, size } from './output/output.ts'
import { withProgress } from './output/progress.ts'
import { disk } from '../host/disk.ts'

/** Writes the layers into `out`, without what the layers in `since` have, and reports each. */
export async function exportLayers(out: string, since: readonly string[], options: CommonOptions): Promise<void> {
  const seal = (dir: string): Promise<SealReport & { readonly layer: string }> => {
    const name = basename(dir)
    const layer = resolve(domainOf(dir) === 'trusted' ? out : untrustedIn(out), name)
    // A base without a layer of this cache was sealed before its tool was used.
    const base = since
      .map((path) => resolve(path, name))
      .filter((path) => disk.existsSync(path) || !disk.existsSync(dirname(path)))
    return inspect(dir, async ({ session, domain }) => {
      const report = await sealIn(domain, layer, () =>
        withProgress('export', (control) => session.run((store) => store.seal(layer, base, control))),
      )
      return { ...report, layer }
    })
  }
  await reportEach('export --layer', options, seal, ({ layer, id, entries, deletes, bytes }) => {
    const what = `${counted(entries, 'entry', 'entries')}, ${counted(deletes, 'delete')}, ${size(bytes)}`
    return `layer ${escapeText(layer)}: ${id}, ${what}\n`
  })
}
