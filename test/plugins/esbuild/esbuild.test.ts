/** `cached` of `@varve/plugins/esbuild` with the real esbuild. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached } from '@varve/plugins/esbuild'
import { build as esbuild, type Plugin, type PluginBuild } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { buildWith, keyScenario, makeApplication, MODULES, scenarios, watchScenario } from '../scenarios.ts'
import { slow } from '../../slow.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), false)

describe('cached, in esbuild', () => {
  // Modules, the entry, and a text.
  const calls = MODULES + 2
  scenarios(build, calls)
  keyScenario(build, calls)
  watchScenario(build)

  it('an esbuild plugin runs again for modules that watch a folder in which a file appears', slow, async () => {
    const folder = makeApplication()
    mkdirSync(join(folder, 'watched'))
    await build(folder)
    writeFileSync(join(folder, 'watched', 'new.js'), '')
    expect((await build(folder)).ran.length).toBe(MODULES + 1)
  })

  /** What other plugins change in the options when they are set up was not compared. */
  it('a definition that a later plugin adds leaves results stale', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log(WORD)\n')
    const words: Plugin = {
      name: 'words',
      setup({ onLoad, initialOptions }) {
        onLoad({ filter: /main/ }, () => ({ contents: `console.log(${initialOptions.define?.['WORD']})` }))
      },
    }
    for (const word of ['"one"', '"two"']) {
      const defining: Plugin = {
        name: 'defining',
        setup: ({ initialOptions }) => void (initialOptions.define = { WORD: word }),
      }
      const plugins = [cached(words, { cacheKey: 'key', dir: 'cache', trackReads: false }), defining]
      const { outputFiles } = await esbuild({ absWorkingDir: folder, entryPoints: ['main.js'], write: false, plugins })
      expect(outputFiles.map(({ text }) => text.trim())).toEqual([`console.log(${word});`])
    }
  })

  it('an esbuild plugin whose name and setup are those of its class fails the build', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log(WORD)\n')
    class Words implements Plugin {
      get name(): string {
        return 'words'
      }
      setup({ onLoad }: PluginBuild): void {
        onLoad({ filter: /main/ }, () => ({ contents: 'console.log("word")' }))
      }
    }
    const plugins = [cached(new Words(), { cacheKey: 'key', dir: 'cache', trackReads: false })]
    const { outputFiles } = await esbuild({ absWorkingDir: folder, entryPoints: ['main.js'], write: false, plugins })
    expect(outputFiles.map(({ text }) => text.trim())).toEqual(['console.log("word");'])
  })

  it('another esbuild target is a full miss', slow, async () => {
    const folder = makeApplication()
    await build(folder)
    expect((await build(folder, { config: { target: 'es2017' } })).ran.length).toBe(MODULES + 2)
  })
})
