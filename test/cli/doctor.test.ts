/** `npx varve doctor` names what keeps builds from hitting: real builds in each situation, and one project without any. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached } from '@varve/plugins/rollup'
import { varve } from '@varve/plugins/vite'
import { type Plugin, rollup } from 'rollup'
import { openCache } from 'varve'
import type { CliJson } from 'varve/cli-json'
import { build as buildWithVite } from 'vite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isInContainerLayer } from '../../packages/varve/dist/cli/diagnosis.js'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'
import { install, TOOLS, write, writeProject } from '../plugins/why/projects.ts'
import { slow } from '../slow.ts'

type Finding = CliJson['doctor']['findings'][number]

/** What it reports of the hits of a cache, and whether that is something to fix. */
function hitsIn(dir: string): readonly Finding[] {
  const { findings }: CliJson['doctor'] = JSON.parse(runVarve(['doctor', '--dir', dir, '--json']).out)
  return findings.filter(({ what }) => what === 'hits')
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe.each(Object.entries(TOOLS))('varve doctor after builds by %s', (tool, { build, stamp }) => {
  const speed = tool === 'vite' ? {} : slow

  const name = stamp.slice(0, stamp.indexOf(' "'))

  function makeProject(): string {
    const folder = makeFolder()
    writeProject(folder)
    return folder
  }

  it('a time in define differs in each build', speed, async () => {
    const folder = makeProject()
    for (const time of [1, 2, 3, 4]) await build(folder, { stamp: `2026-01-01T00:00:0${time}Z` })
    expect(hitsIn(join(folder, 'cache'))).toEqual([
      {
        what: 'hits',
        found: expect.stringContaining(`${name} differs in each of the last 3 builds (the last time `),
        advice: expect.stringContaining('remove the time'),
      },
    ])
  })

  it('a random value in define, which the cache does not show, differs in each build', slow, async () => {
    const folder = makeProject()
    for (const value of ['9f3ad0c27be1', '0b8e72f1a94c', 'c51d90e8f7a2', '77ae10cd25bb'])
      await build(folder, { stamp: value })
    const found = expect.stringMatching(/differs in each of the last 3 builds$/)
    expect(hitsIn(join(folder, 'cache'))).toMatchObject([{ found, advice: expect.any(String) }])
  })

  it('an absolute path in define has changed', speed, async () => {
    const folder = makeProject()
    for (const path of ['/builds/1/app', '/builds/2/app']) await build(folder, { stamp: path })
    const found = expect.stringContaining('has the absolute path "/builds/2/app", and had "/builds/1/app"')
    expect(hitsIn(join(folder, 'cache'))).toMatchObject([
      { found, advice: expect.stringContaining('relative to the project') },
    ])
  })

  it('a variable has another value than in the build before', speed, async () => {
    const folder = makeProject()
    for (const mode of ['development', 'production']) {
      vi.stubEnv('NODE_ENV', mode)
      await build(folder)
    }
    const found = expect.stringContaining('NODE_ENV had the value production instead of development')
    expect(hitsIn(join(folder, 'cache'))).toMatchObject([
      { found, note: expect.stringContaining('set it to one value') },
    ])
  })

  it('a project whose files change between builds gets no remark', speed, async () => {
    const folder = makeProject()
    for (const color of ['red', 'green', 'blue', 'teal']) {
      write(folder, { 'src/theme.css': `a { color: ${color} }`, '.pagerc': color })
      await build(folder)
    }
    expect(hitsIn(join(folder, 'cache'))).toEqual([])
    install(folder, '7.30.0')
    await build(folder)
    expect(hitsIn(join(folder, 'cache'))).toEqual([])
    expect(
      JSON.parse(runVarve(['history', '--dir', join(folder, 'cache'), '--json']).out).caches[0].builds,
    ).toHaveLength(5)
  })
})

describe('varve doctor', () => {
  it('two versions of a tool that take turns get no remark with webpack, whose cache keeps both', slow, async () => {
    const folder = makeFolder()
    writeProject(folder)
    for (const version of ['7.29.13', '7.30.0', '7.29.13', '7.30.0']) {
      install(folder, version)
      await TOOLS['webpack']?.build(folder)
    }
    expect(hitsIn(join(folder, 'cache'))).toEqual([])
  })

  it.each([
    [
      '@org/compiler',
      ['7.29.13', '7.30.0'],
      '@org/compiler 7.29.13 and @org/compiler 7.30.0 take turns',
      'use one version of @org/compiler',
    ],
    [
      'NODE_ENV',
      ['development', 'production'],
      'NODE_ENV development and NODE_ENV production take turns',
      'set NODE_ENV to one value in all builds',
    ],
  ])('two values of %s take turns on a cache that keeps one', async (name, [one = '', other = ''], found, advice) => {
    const dir = join(makeFolder(), 'cache')
    for (const value of [one, other, one, other]) {
      await using cache = await openCache({ name: 'tool', dir })
      cache.namespace('results', { codec: 'text', version: value }).put('a', 'result')
      cache.recordBuild({
        hits: 0,
        misses: 1,
        savedMs: 0,
        reasons: { [`changed ${name} ${value === one ? other : one} -> ${value}`]: 1 },
      })
    }
    expect(hitsIn(dir)).toMatchObject([
      { found: expect.stringContaining(found), advice: expect.stringContaining(advice) },
    ])
  })

  it('builds whose ids are never the same find nothing', async () => {
    const dir = join(makeFolder(), 'cache')
    const build = async (prefix: string): Promise<void> => {
      await using cache = await openCache({ name: 'tool', dir })
      for (const id of ['a', 'b']) await cache.task('compile').run({ id: `${prefix}/${id}` }, () => id)
    }
    for (const prefix of ['run-1', 'run-2']) await build(prefix)
    expect(hitsIn(dir)).toEqual([])
    await build('run-3')
    expect(hitsIn(dir)).toMatchObject([
      { found: expect.stringContaining('the last 3 builds found nothing'), advice: expect.any(String) },
    ])
  })

  it('the layer of a container is not kept, a volume in it is', () => {
    const overlay = '22 1 0:21 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w'
    const volume = `${overlay}\n30 22 8:1 /v /app/node_modules/.cache rw - ext4 /dev/sda1 rw\n31 22 8:1 /w /a\\040b rw - ext4 /dev/sda1 rw`
    expect(isInContainerLayer('/app/node_modules/.cache/varve', overlay)).toBe(true)
    expect(isInContainerLayer('/app/node_modules/.cache/varve', volume)).toBe(false)
    expect(isInContainerLayer('/a b/varve', volume)).toBe(false)
    expect(isInContainerLayer('/app/other', volume)).toBe(true)
    expect(isInContainerLayer('/app', '22 1 8:1 / / rw - ext4 /dev/sda1 rw')).toBe(false)
    expect(isInContainerLayer('/app', '')).toBe(false)
  })

  it.runIf(process.platform === 'linux')('a container is a remark until two builds have used the cache', async () => {
    const dir = join(makeFolder(), 'cache')
    const isInLayer = isInContainerLayer(dir, readFileSync('/proc/self/mountinfo', 'utf8'))
    const remarks = (): number => {
      const { findings }: CliJson['doctor'] = JSON.parse(runVarve(['doctor', '--dir', dir, '--json']).out)
      return findings.filter(({ what }) => what === 'container').length
    }
    const found: number[] = []
    for (const key of ['one', 'two']) {
      await using cache = await openCache({ name: 'tool', dir })
      cache.namespace('a', { codec: 'text' }).put(key, 'value')
      await cache.close()
      found.push(remarks())
    }
    expect(found).toEqual([isInLayer ? 1 : 0, 0])
  })
})

describe('varve doctor after builds that stored nothing', () => {
  const bundle = async (folder: string, plugin: Plugin): Promise<void> => {
    write(folder, { 'package.json': '{}', 'main.js': 'console.log(1)' })
    const dir = join(folder, 'cache')
    const wrapped = cached(plugin, { cacheKey: 1, root: folder, dir })
    const built = await rollup({ input: join(folder, 'main.js'), plugins: [wrapped], onwarn: () => undefined })
    await built.close()
  }

  it('builds of a plugin that starts processes leave no record, and doctor finds nothing wrong', async () => {
    const folder = makeFolder()
    const transform = (): null => {
      execFileSync(process.execPath, ['--version'])
      return null
    }
    for (let build = 0; build < 2; build++) await bundle(folder, { name: 'spawning', transform })
    expect(hitsIn(join(folder, 'cache'))).toEqual([
      {
        what: 'hits',
        found: expect.stringMatching(/each of the last 2 builds by rollup has stored nothing: .*(?:process|runs)/),
        advice: expect.stringContaining("its package in 'trust'"),
      },
    ])
  })

  it('a build of a plugin that keeps state leaves no record', async () => {
    const folder = makeFolder()
    const seen: string[] = []
    await bundle(folder, {
      name: 'collecting',
      transform: (_, id) => void seen.push(id),
      generateBundle() {
        this.emitFile({ type: 'asset', source: seen.join() })
      },
    })
    expect(hitsIn(join(folder, 'cache'))).toEqual([
      {
        what: 'hits',
        found: expect.stringContaining(
          "the last build by rollup has stored nothing: refused: plugin 'collecting': its hook 'generateBundle'",
        ),
        advice: expect.stringContaining("'stateless: true'"),
      },
    ])
    expect(runVarve(['history', '--dir', join(folder, 'cache')]).out).toMatch(
      /^rollup .* - +- +refused: plugin 'collecting': its hook 'generateBundle' may use what it keeps of each module +-$/m,
    )
  })

  it.each([
    [
      'not tested',
      { name: 'shout', transform: (): null => null },
      "not tested: 'shout'",
      "name the slow ones, as in varve({ plugins: ['<name>'] })",
    ],
    [
      'with state',
      { name: 'collect', transform: (): null => null, generateBundle: () => undefined },
      "with state: 'collect'",
      'stateless: true',
    ],
    [
      'without work',
      { name: 'page', closeBundle: () => undefined },
      "without work on modules: 'page'",
      'so remove varve()',
    ],
    ['of Vite alone', undefined, "all are Vite's own", 'so remove varve()'],
  ])(
    'a build by Vite whose plugins varve() does not know leaves no record, and doctor says nothing: %s',
    async (_, plugin, found, advice) => {
      const root = makeFolder()
      write(root, { 'package.json': '{}', 'main.js': "import './part.js'", 'part.js': 'console.log(1)' })
      const input = join(root, 'main.js')
      const dir = join(root, 'cache')
      await buildWithVite({
        root,
        configFile: false,
        logLevel: 'silent',
        build: { rolldownOptions: { input } },
        plugins: [plugin, varve({ dir })],
      })
      const text = runVarve(['doctor', '--dir', dir]).out
      expect(text).toContain(`the last build by vite has stored nothing: varve() knows no plugin; ${found}`)
      expect(text).toContain(advice)
      expect(runVarve(['history', '--dir', dir]).out).toMatch(
        /^vite .* 0 of 2 .*not stored: varve\(\) knows no plugin/m,
      )
    },
  )
})
