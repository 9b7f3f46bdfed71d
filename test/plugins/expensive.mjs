// @ts-check
// A plugin for Rollup and its family that does all that can be replayed: code and maps, meta and flags, watched files,
// emitted files, warnings. It notes each module that it runs for.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, noteRun, order } from './order.mjs'

/** @returns {import('rollup').Plugin} */
export function expensive() {
  return {
    name: 'expensive',
    version: order.version,
    load: {
      filter: { id: /\.text$/ },
      handler(id) {
        if (!id.endsWith('.text')) return undefined // older tools ignore filters
        noteRun(id)
        return { code: `export default ${JSON.stringify(readFileSync(id, 'utf8'))}`, map: { mappings: '' } }
      },
    },
    transform: {
      filter: { id: /\.js$/ },
      async handler(code, id) {
        if (!id.endsWith('.js')) return undefined
        noteRun(id)
        const number = Number(/module-(\d+)/.exec(id)?.[1] ?? -1)
        if (code.includes('BROKEN')) this.error(`module ${number} is broken`)
        if (order.asks && number === 3) await this.resolve('./module-4.js', id)
        this.addWatchFile(join(folder, 'shared.txt'))
        const shared = readFileSync(join(folder, 'shared.txt'), 'utf8').trim()
        const end = [`console.log(${JSON.stringify(`${order.banner} ${shared} ${number}`)})`, ...emitted(this, number)]
        if (number % 10 === 1) this.warn(`module ${number} is old`)
        const lines = code.split('\n').length - 1
        return {
          code: `${code}${end.join('\n')}\n`,
          map: {
            version: 3,
            sources: [id],
            sourcesContent: [code],
            names: [],
            mappings: `AAAA${';AACA'.repeat(lines)}`,
          },
          meta: { expensive: { number } },
          moduleSideEffects: number % 10 === 2 ? 'no-treeshake' : true,
        }
      },
    },
    generateBundle() {
      const found = [...this.getModuleIds()].map((id) => [id.slice(folder.length), this.getModuleInfo(id)])
      const lines = found
        .map(([id, info]) => JSON.stringify([id, typeof info === 'object' ? info?.meta['expensive'] : null]))
        .sort()
      this.emitFile({ type: 'asset', fileName: 'meta.txt', source: lines.join('\n') })
    },
  }
}

/**
 * Files of some modules, all of one name so that their references depend on the order, and a chunk.
 * @param {import('rollup').PluginContext} context
 * @param {number} number
 */
function emitted(context, number) {
  if (number === 5) context.emitFile({ type: 'chunk', id: join(folder, 'extra.js'), name: 'extra' })
  if (number % 10 !== 0) return []
  const reference = context.emitFile({ type: 'asset', name: 'note.txt', source: `note of ${number}\n` })
  return [`console.log(import.meta.ROLLUP_FILE_URL_${reference})`]
}
