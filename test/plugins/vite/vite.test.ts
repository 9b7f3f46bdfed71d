/** `cached` and `varve` of `@varve/plugins/vite` with the real Vite. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { varve } from '@varve/plugins/vite'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { buildWith, keyScenario, makeApplication, MODULES, scenarios, watchScenario } from '../scenarios.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), true)
const buildVue = buildWith(fileURLToPath(new URL('vue.mjs', import.meta.url)), true)
// Modules, the entry, a chunk that one of them emits, a text that is loaded, and the runtime.
const CALLS = MODULES + 4

describe('cached, in Vite', () => {
  scenarios(build, CALLS)
  keyScenario(build, CALLS)
  watchScenario(build)

  it(
    'another mode, definition or environment is a full miss of the Vite cache, and keeps the earlier entries',
    slow,
    async () => {
      const folder = makeApplication()
      await build(folder)
      const ssr = { outDir: 'dist', minify: false, ssr: 'main.js' }
      for (const config of [{ mode: 'staging' }, { define: { FLAG: '1' } }, { build: ssr }]) {
        const built = await build(folder, { config })
        expect(built, JSON.stringify(config)).toMatchObject({ failure: null, hits: 0 })
        expect(built.ran.length).toBeGreaterThan(MODULES)
        expect(await build(folder, { config }), JSON.stringify(config)).toMatchObject({ failure: null, ran: [] })
      }
      expect(await build(folder)).toMatchObject({ ran: [] })
    },
  )

  it('the Vite config file and its imports replace a key', slow, async () => {
    const folder = makeApplication()
    writeFileSync(join(folder, 'banner.js'), "export const banner = 'one'\n")
    writeFileSync(
      join(folder, 'vite.config.js'),
      "import { banner } from './banner.js'\nexport default { define: { unused: banner === '' } }\n",
    )
    const order = { isKeyless: true, config: { configFile: 'vite.config.js' } }
    expect(await build(folder, order)).toMatchObject({ failure: null, misses: CALLS })
    expect(await build(folder, order)).toMatchObject({ failure: null, ran: [] })
    appendFileSync(join(folder, 'banner.js'), '// changed\n')
    expect(await build(folder, order)).toMatchObject({ failure: null, hits: 0, misses: CALLS })
  })
})

describe('varve, in Vite', () => {
  it('varve() of Vite wraps a plugin by its name', slow, async () => {
    const folder = makeApplication()
    const config = { byName: true }
    const { digest } = await build(folder, { isCached: false })
    expect(await build(folder, { config })).toMatchObject({ failure: null, digest, misses: CALLS })
    expect(await build(folder, { config })).toMatchObject({ failure: null, digest, ran: [], hits: CALLS })
  })

  it('Vue components hit, and a change of an imported type is a miss', slow, async () => {
    const folder = makeVueApplication()
    const none = await buildVue(folder, { isCached: false })
    expect(await buildVue(folder)).toMatchObject({ failure: null, digest: none.digest, hits: 0 })
    const warm = await buildVue(folder)
    expect(warm).toMatchObject({ failure: null, digest: none.digest, misses: 0 })
    expect(warm.hits).toBeGreaterThan(MODULES)
    writeFileSync(join(folder, 'types.ts'), 'export interface Props { title: string; added: number }\n')
    const changed = await buildVue(folder, { isCached: false })
    expect(changed.digest).not.toBe(none.digest)
    expect(await buildVue(folder)).toMatchObject({ failure: null, digest: changed.digest })
  })

  // The key of such a template had no part of the component, whose script decides how names in it are compiled.
  it(
    'a Vue template in a file of its own is compiled again after the script of its component changed',
    slow,
    async () => {
      const folder = makeVueApplication()
      writeFileSync(join(folder, 'apart.html'), '<p>{{ title }}</p>\n')
      writeFileSync(join(folder, 'main.js'), "import Apart from './apart.vue'\nconsole.log(Apart)\n")
      const component = (script: string): string =>
        `<script setup>\n${script}\n</script>\n<template src="./apart.html"></template>\n`
      writeFileSync(join(folder, 'apart.vue'), component("const title = 'one' + Math.random()"))
      expect(await buildVue(folder)).toMatchObject({ failure: null })
      writeFileSync(join(folder, 'apart.vue'), component("defineProps(['title'])"))
      const { digest } = await buildVue(folder, { isCached: false })
      expect(await buildVue(folder)).toMatchObject({ failure: null, digest })
    },
  )

  it('varve() without names caches the plugins that Varve knows', async () => {
    const folder = makeVueApplication()
    const config = { names: 'unnamed' }
    const none = await buildVue(folder, { isCached: false })
    expect(await buildVue(folder, { config })).toMatchObject({ failure: null, digest: none.digest, hits: 0 })
    const warm = await buildVue(folder, { config })
    expect(warm).toMatchObject({ failure: null, digest: none.digest, misses: 0 })
    expect(warm.hits).toBeGreaterThan(MODULES)
  })

  it('a name that is not found fails the build, with a suggestion', async () => {
    expect((await buildVue(makeVueApplication(), { config: { names: ['veu'] } })).failure).toContain(
      "did you mean 'vue'?",
    )
  })

  it.each([
    ['react', 'react-babel'],
    ['swc', 'react-swc'],
    ['React', 'react-babel'],
    ['scanner', 'scanner:emit'],
  ])('the name of a package suggests the plugin that it has: %s', (name, suggested) => {
    expect(() =>
      resolveConfig(['vite:react-refresh', 'vite:react-babel', 'vite:react-swc', 'scanner:emit'], [name]),
    ).toThrow(`did you mean '${suggested}'?`)
  })

  it.each([
    [['vite:css', 'native:reporter', 'commonjs'], "all are Vite's own. Remove varve()"],
    [['vite:css', 'mine', 'yours'], "not tested: 'mine', 'yours'. Name the slow ones: varve({ plugins: ['mine'] })"],
    [['@tailwindcss/vite:scan', '@tailwindcss/vite:generate'], "with state: '@tailwindcss/vite'. Remove varve()"],
  ])('varve() that knows none of the plugins warns once: %j', async (names, expected) => {
    const begin = resolveConfig(names, 'auto')
    const warnings: string[] = []
    for (let environment = 0; environment < 2; environment++) await begin((text) => warnings.push(text))
    expect(warnings).toEqual([`nothing is cached, because varve() knows no plugin; ${expected}`])
  })
})

/** Resolves a config with plugins of these names and that of `varve`. Returns its hook `buildStart`. */
function resolveConfig(
  names: readonly string[],
  plugins: 'auto' | readonly string[],
): (warn: (text: string) => void) => Promise<void> {
  const plugin = varve({ plugins })
  const { configResolved, buildStart } = plugin
  const all = [...names.map((name) => ({ name, transform: () => null })), plugin]
  const handler: unknown = typeof configResolved === 'object' ? configResolved.handler : configResolved
  if (typeof handler !== 'function' || typeof buildStart !== 'function') throw new Error('varve() has other hooks')
  Reflect.apply(handler, {}, [{ plugins: all, root: makeFolder(), command: 'build', build: { outDir: 'dist' } }])
  return async (warn) =>
    void (await Reflect.apply(buildStart, { warn, info: () => undefined, meta: {}, environment: {} }, [{}]))
}

/** Components with a style each, and one in TypeScript whose properties are of an imported type. */
function makeVueApplication(): string {
  const folder = makeFolder()
  const names = Array.from({ length: MODULES }, (_, index) => `part-${index}.vue`)
  for (const [index, name] of names.entries()) {
    const script = `<script setup>\ndefineProps({ of: Number })\nconst number = ${index}\n</script>\n`
    const template = `<template><p class="part">{{ number }} of {{ of }}</p></template>\n`
    writeFileSync(join(folder, name), `${script}${template}<style scoped>.part { order: ${index} }</style>\n`)
  }
  const typed = `<script setup lang="ts">
import { slow } from '../../slow.ts'
import type { Props } from './types'
defineProps<Props>()
</script>
<template><p>{{ title }}</p></template>
`
  writeFileSync(join(folder, 'typed.vue'), typed)
  writeFileSync(join(folder, 'types.ts'), 'export interface Props { title: string }\n')
  const imports = [...names, 'typed.vue'].map((name, index) => `import part${index} from './${name}'`)
  writeFileSync(
    join(folder, 'main.js'),
    `${imports.join('\n')}\nconsole.log(${imports.map((_, index) => `part${index}`).join(', ')})\n`,
  )
  writeFileSync(join(folder, 'vite.config.js'), 'export default {}\n')
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0", "type": "module"}')
  return folder
}
