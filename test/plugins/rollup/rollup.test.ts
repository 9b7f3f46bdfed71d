/** `cached` of `@varve/plugins/rollup` with the real Rollup. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached } from '@varve/plugins/rollup'
import { type Plugin, rollup } from 'rollup'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { buildWith, keyScenario, MODULES, scenarios, watchScenario } from '../scenarios.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), false)

describe('cached, in Rollup', () => {
  // Modules, the entry, a chunk that one of them emits, and a text that is loaded.
  const calls = MODULES + 3
  scenarios(build, calls)
  keyScenario(build, calls)
  watchScenario(build)

  it('one file with the queries ?v=1 and ?v=2 is two modules, each with its own result', async () => {
    const folder = makeFolder()
    writeFileSync(
      join(folder, 'main.js'),
      "import a from './part.js?v=1'\nimport b from './part.js?v=2'\nconsole.log(a, b)\n",
    )
    writeFileSync(join(folder, 'part.js'), 'export default QUERY\n')
    const plugin = (): Plugin => ({
      name: 'queries',
      resolveId: (source) => (source.startsWith('./part.js') ? join(folder, source) : null),
      load: (id) => (id.includes('?') ? 'export default QUERY\n' : null),
      transform: (code, id) => ({ code: code.replace('QUERY', JSON.stringify(id.slice(id.indexOf('?')))), map: null }),
    })
    for (let round = 0; round < 2; round++) {
      const plugins = [cached(plugin(), { cacheKey: 'key', root: folder, dir: 'cache' })]
      const bundle = await rollup({ input: join(folder, 'main.js'), plugins })
      const { output } = await bundle.generate({})
      await bundle.close()
      expect(output[0].code).toContain('"?v=1"')
      expect(output[0].code).toContain('"?v=2"')
    }
  })
})
