/** The recipes of docs/layers.md that need another user or Git, with the commands of the page. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { makeFolder, snapshot } from '../folders.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const VARVE = join(REPOSITORY, 'packages/varve/dist')
const PAGE = readFileSync(join(REPOSITORY, 'docs/layers.md'), 'utf8')

/** Runs one task, and prints whether its work ran and how the cache is. */
const BUILD = `const { openCache } = await import(process.env.VARVE_TEST_PACKAGE)
const cache = await openCache({ name: 'my-tool' })
let ran = 0
for (const id of ['src/a.js', 'src/b.js']) await cache.task('transform', { root: process.cwd() }).run({ id }, () => ++ran)
const { degraded, layers } = cache.status()
await cache.close()
console.log(JSON.stringify({ ran, layers: layers.filter(({ problem }) => problem === null).length, degraded: degraded?.why ?? null }))
`

const SET_USER = 'setpriv'
/** A user that owns nothing here. */
const OTHER = 65_534

/** Whether tests may run as another user, who can read the build of this repository. */
function canSwitchUser(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    execFileSync(
      SET_USER,
      [...asOther(), process.execPath, '-e', `require('node:fs').readdirSync(${JSON.stringify(VARVE)})`],
      { stdio: 'ignore' },
    )
    return true
  } catch {
    return false
  }
}

function asOther(): string[] {
  return [`--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups']
}

function makeProject(): string {
  const folder = realpathSync(makeFolder())
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'build.mjs'), BUILD)
  return folder
}

interface Ran {
  readonly ran: number
  readonly layers: number
  readonly degraded: string | null
}

/** Builds in a folder, as this user or another. */
function build(folder: string, layers: string, program = process.execPath, args: readonly string[] = []): Ran {
  const env = {
    PATH: process.env['PATH'],
    VARVE_LAYERS: layers,
    VARVE_TEST_PACKAGE: pathToFileURL(join(VARVE, 'index.js')).href,
    HOME: folder,
  }
  return JSON.parse(execFileSync(program, [...args, 'build.mjs'], { cwd: folder, env, encoding: 'utf8' }))
}

describe('docs/layers.md', () => {
  it.runIf(canSwitchUser())(
    'Docker: a layer that root has sealed and made readable is used by another user of the image',
    async () => {
      expect(PAGE).toContain('npx varve export --layer /opt/varve-base && chmod -R a+rX /opt/varve-base')
      const [base, image] = [makeProject(), makeProject()]
      expect(build(base, '')).toEqual({ ran: 2, layers: 0, degraded: null })
      const sealed = join(base, 'varve-base')
      const cache = await openCache({ name: 'my-tool', dir: join(base, 'node_modules/.cache/varve/my-tool') })
      await cache.seal(join(sealed, 'my-tool'))
      await cache.close()
      const copied = join(image, 'varve-base')
      cpSync(sealed, copied, { recursive: true })
      chownSync(image, OTHER, OTHER)
      const other = (): Ran => build(image, copied, SET_USER, [...asOther(), process.execPath])
      execFileSync('chmod', ['-R', 'go=', copied])
      expect(other()).toMatchObject({ ran: 2, layers: 0 }) // sealed for its owner only
      execFileSync('rm', ['-rf', join(image, 'node_modules')])
      execFileSync('chmod', ['-R', 'a+rX', copied])
      const before = snapshot(copied)
      expect(other()).toEqual({ ran: 0, layers: 1, degraded: null })
      expect(snapshot(copied)).toEqual(before)
    },
  )

  it('a Git worktree begins with what the main checkout had, and adds to a cache of its own', () => {
    const commands = /```sh\n(npx varve export --layer \.varve-layers[^]*?)```/.exec(PAGE)?.[1] ?? ''
    const main = makeProject()
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd: main, stdio: 'ignore' })
    git('init', '--quiet')
    writeFileSync(join(main, '.gitignore'), 'node_modules\n.varve-layers\n')
    git('add', '.')
    git('-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '--quiet', '--message', 'first')
    expect(build(main, '').ran).toBe(2)
    const bin = join(main, 'node_modules/bin')
    mkdirSync(bin, { recursive: true })
    const cli = join(VARVE, 'bundle/cli.js')
    writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\nexec "${process.execPath}" "${cli}" "$@"\n`, { mode: 0o755 })
    // 'npm ci' and 'npm run build' of the recipe
    writeFileSync(join(bin, 'npm'), `#!/bin/sh\n[ "$1" = ci ] || exec "${process.execPath}" build.mjs\n`, {
      mode: 0o755,
    })
    const env = {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: main,
      VARVE_TEST_PACKAGE: pathToFileURL(join(VARVE, 'index.js')).href,
    }
    const place = `feature-${dirname(main).length}-${process.pid}-${Date.now()}`
    const out = execFileSync('sh', ['-e', '-c', commands.replaceAll('../feature', `../${place}`)], {
      cwd: main,
      env,
      encoding: 'utf8',
    })
    expect(JSON.parse(out.trim().split('\n').at(-1) ?? '')).toEqual({ ran: 0, layers: 1, degraded: null })
    expect(existsSync(join(main, '..', place, 'node_modules/.cache/varve/my-tool'))).toBe(false)
    git('worktree', 'remove', '--force', `../${place}`)
  })
})
