/** `npx varve why <module>` after a build: the reason of the last miss in words, with the old and the new value if they are short. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { packageParts } from '../../../packages/plugins/dist/build/digest.js'
import { runVarve } from '../../command.ts'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { type Choices, install, OTHER_TOOLS, TOOLS, write, writeProject } from './projects.ts'

/** Why the module was built the last time. */
function why(folder: string): string {
  const { out, err } = runVarve(['why', 'src/page.js', '--dir', 'cache'], { cwd: folder })
  return /^last miss, .* ago: (.*)$/m.exec(out)?.[1] ?? `${out}${err}`
}

/** The reasons in the record of the last build. */
async function reasonsIn(folder: string, tool: string): Promise<readonly string[]> {
  await using cache = await openCache({ name: tool, dir: join(folder, 'cache'), readOnly: true })
  return Object.keys(cache.history()[0]?.reasons ?? {})
}

/** The bytes of all files of the cache, without those that are compressed. */
function textsIn(folder: string): string {
  const paths = readdirSync(join(folder, 'cache'), { recursive: true, encoding: 'utf8' }).map((name) =>
    join(folder, 'cache', name),
  )
  return paths
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('')
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe.each(Object.entries({ ...TOOLS, ...OTHER_TOOLS }))(
  'varve why after a build by %s',
  (tool, { build, stamp, option }) => {
    // webpack has quicker tests of its own: `../webpack/why.test.ts`.
    const speed = tool === 'vite' ? {} : slow

    /** Builds twice, with a change between the builds, and returns why the module was built again. */
    async function rebuilt(
      change: (folder: string) => void,
      before: Choices = {},
      after: Choices = before,
    ): Promise<[why: string, folder: string]> {
      const folder = makeFolder()
      writeProject(folder)
      await build(folder, before)
      expect(why(folder)).toBe('nothing was stored')
      change(folder)
      await build(folder, after)
      return [why(folder), folder]
    }

    it('names a package with its old and its new version', speed, async () => {
      const [reason, folder] = await rebuilt((at) => install(at, '7.30.0'))
      expect(reason).toBe('@org/compiler 7.29.13 -> 7.30.0')
      expect(await reasonsIn(folder, tool)).toEqual(['changed @org/compiler 7.29.13 -> 7.30.0'])
    })

    it('varve why names a file that changed', speed, async () => {
      expect((await rebuilt((folder) => write(folder, { 'src/theme.css': 'a { color: blue }' })))[0]).toBe(
        'src/theme.css changed',
      )
      expect(
        (await rebuilt((folder) => write(folder, { 'src/page.js': 'export const page = () => __STAMP__\n' })))[0],
      ).toBe('src/page.js changed')
    })

    it('varve why names a file that appeared', speed, async () => {
      expect((await rebuilt((folder) => write(folder, { '.pagerc': '1' })))[0]).toBe('.pagerc appeared')
    })

    it('names a variable with its old and its new value', speed, async () => {
      vi.stubEnv('TEST_MODE', 'staging')
      const [reason] = await rebuilt(() => vi.stubEnv('TEST_MODE', 'production'))
      expect(reason).toBe('TEST_MODE staging -> production')
    })

    it('neither stores nor prints the value of a variable whose name is that of a secret', speed, async () => {
      vi.stubEnv('TEST_TOKEN', 'opensesame')
      const [reason, folder] = await rebuilt(() => vi.stubEnv('TEST_TOKEN', 'abracadabra'))
      expect(reason).toBe('TEST_TOKEN changed')
      expect(textsIn(folder)).toContain('TEST_TOKEN')
      expect(textsIn(folder)).not.toMatch(/opensesame|abracadabra/)
      expect(runVarve(['why', 'src/page.js', '--dir', 'cache', '--json'], { cwd: folder }).out).not.toMatch(
        /opensesame|abracadabra/,
      )
    })

    it('names a changed option with both values', speed, async () => {
      expect((await rebuilt(() => undefined, { version: 'a' }, { version: 'b' }))[0]).toContain(option)
    })

    it('names a changed value of define, or of an option, with both values', speed, async () => {
      const [reason, folder] = await rebuilt(() => undefined, { stamp: '1' }, { stamp: '2' })
      expect(reason).toBe(stamp)
      expect(await reasonsIn(folder, tool)).toEqual([`changed ${stamp}`])
    })
  },
)

describe('packages in a lock file', () => {
  const at = (version: string): { readonly version: string } => ({ version })
  const npmLock = (packages: object): string => JSON.stringify({ lockfileVersion: 3, packages }, null, 2)
  const found = { '@babel/core': '="7.29.0"', vite: '="7.1.0"' }

  it.each([
    ['npm', npmLock({ 'node_modules/@babel/core': at('7.29.0'), 'node_modules/vite': at('7.1.0') })],
    [
      'pnpm',
      `lockfileVersion: '9.0'

packages:

  '@babel/core@7.29.0':
    resolution: {}

  vite@7.1.0:
    hasBin: true

snapshots:

  vite@7.1.0(@types/node@22.0.0):
    optional: true
`,
    ],
    [
      'Yarn 1',
      `# yarn lockfile v1

"@babel/core@^7.0.0", "@babel/core@^7.2":
  version "7.29.0"
  resolved "x"

vite@^7:
  version "7.1.0"
`,
    ],
    [
      'Yarn',
      '__metadata:\n  version: 8\n\n"@babel/core@npm:^7.0.0":\n  version: 7.29.0\n\n"vite@npm:^7":\n  version: 7.1.0\n',
    ],
    [
      'Bun',
      `{
  "lockfileVersion": 1,
  "workspaces": {
    "": {},
  },
  "packages": {
    "@babel/core": ["@babel/core@7.29.0", "", {}],
    "vite": ["vite@7.1.0", {}],
  }
}
`,
    ],
  ])('of %s', (_, lock) => {
    expect(packageParts(lock)).toEqual(found)
  })

  it('two versions of one package are named together, and a text of another form has none', () => {
    const packages = { 'node_modules/a': at('2.0.0'), 'node_modules/b/node_modules/a': at('1.0.0'), '': at('9') }
    expect(packageParts(npmLock(packages))).toEqual({ a: '="1.0.0 and 2.0.0"' })
    expect(packageParts('nothing of this kind')).toEqual({})
  })
})
