/** A small application, and a plugin for Rollup's family that does all that can be replayed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { makeFolder } from '../../folders.ts'

/** What the plugin uses of its context. */
interface Context {
  addWatchFile(path: string): void
  warn(text: string): void
  emitFile(file: { type: 'asset'; name: string; source: string }): string
}

export const MODULES = 40

/** Its folder. */
export function makeApplication(): string {
  const folder = makeFolder()
  const names = Array.from({ length: MODULES }, (_, index) => `module-${index}.js`)
  for (const [index, name] of names.entries()) writeFileSync(join(folder, name), `export const value = ${index} * 2\n`)
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}'`)
  const sum = names.map((_, index) => `v${index}`).join(' + ')
  writeFileSync(
    join(folder, 'main.js'),
    `${imports.join('\n')}\nimport text from './some.text'\nconsole.log(text, ${sum})\n`,
  )
  writeFileSync(join(folder, 'some.text'), 'some text\n'.repeat(50))
  writeFileSync(join(folder, 'shared.txt'), 'shared\n')
  writeFileSync(
    join(folder, 'package.json'),
    '{"name": "application", "version": "1.0.0", "type": "module", "sideEffects": true}',
  )
  return folder
}

/** The plugin, for an application in `folder`. */
export function plugin(folder: string) {
  return {
    name: 'expensive',
    load(id: string) {
      return id.endsWith('.text')
        ? { code: `export default ${JSON.stringify(readFileSync(id, 'utf8'))}`, map: null }
        : null
    },
    transform(this: Context, code: string, id: string) {
      if (!id.endsWith('.js') || !id.startsWith(folder)) return null
      const number = Number(/module-(\d+)/.exec(id)?.[1] ?? 0)
      this.addWatchFile(join(folder, 'shared.txt'))
      if (number % 4 === 1) this.warn(`${basename(id)} is old`)
      const reference =
        number % 5 === 2 ? this.emitFile({ type: 'asset', name: 'note.txt', source: `note of ${number}\n` }) : undefined
      const end = reference === undefined ? '' : `console.log(import.meta.ROLLUP_FILE_URL_${reference})\n`
      const map = { version: 3, sources: [id], sourcesContent: [code], names: ['value'], mappings: 'AAAAA;' }
      return {
        code: `${code}// ${'long '.repeat(60)}\n${end}`,
        map,
        moduleSideEffects: number % 3 === 0 ? ('no-treeshake' as const) : true,
      }
    },
  }
}
