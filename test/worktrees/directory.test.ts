/** `dir: 'git'` and `VARVE_DIR=git`: one cache for all worktrees of a repository. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitDirectory, openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'
import { addWorktree, commitAll, git, makeRepository } from './repository.ts'

const home = process.cwd()
afterEach(() => {
  process.chdir(home)
  vi.unstubAllEnvs()
})

/** The directory of a cache that a process in `folder` opens. */
async function dirIn(folder: string, dir?: string): Promise<string> {
  process.chdir(folder)
  const cache = await openCache({ name: 'tool', dir })
  try {
    return cache.status().dir
  } finally {
    await cache.close()
    process.chdir(home)
  }
}

function makeWorktree(): { repository: string; worktree: string } {
  const repository = makeRepository()
  mkdirSync(join(repository, 'packages/one'), { recursive: true })
  writeFileSync(join(repository, 'packages/one/package.json'), '{}')
  commitAll(repository)
  return { repository, worktree: addWorktree(repository, 'feature') }
}

describe("option dir: 'git'", () => {
  it('all worktrees of a repository open the same directory, from every directory in them', async () => {
    const { repository, worktree } = makeWorktree()
    const shared = join(repository, '.git/varve/tool')
    for (const folder of [repository, worktree]) {
      for (const inside of ['', 'packages/one']) expect(await dirIn(join(folder, inside), 'git')).toBe(shared)
    }
  })

  it('VARVE_DIR=git puts the caches of all tools there; an option of a tool has precedence', async () => {
    const { repository, worktree } = makeWorktree()
    vi.stubEnv('VARVE_DIR', 'git')
    expect(await dirIn(worktree)).toBe(join(repository, '.git/varve/tool'))
    expect(await dirIn(worktree, './git')).toBe(join(worktree, 'git'))
  })

  it('the worktrees of a bare repository share a directory in it', async () => {
    const { repository } = makeWorktree()
    const bare = join(repository, '../bare.git')
    git(repository, 'clone', '--bare', repository, bare)
    expect(await dirIn(addWorktree(bare, 'other'), 'git')).toBe(join(bare, 'varve/tool'))
  })

  it('a submodule has a cache of its own', async () => {
    const { repository } = makeWorktree()
    const outer = join(repository, '../outer')
    mkdirSync(outer)
    git(outer, 'init')
    git(outer, 'submodule', 'add', repository, 'inner')
    expect(await dirIn(join(outer, 'inner'), 'git')).toBe(join(outer, '.git/modules/inner/varve/tool'))
    expect(await dirIn(outer, 'git')).toBe(join(outer, '.git/varve/tool'))
  })

  it('outside a repository it is as if it were not set', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'package.json'), '{}')
    expect(await dirIn(folder, 'git')).toBe(join(folder, 'node_modules/.cache/varve/tool'))
    vi.stubEnv('VARVE_DIR', 'caches')
    expect(await dirIn(folder, 'git')).toBe(join(folder, 'caches/tool'))
  })

  it('the command finds these caches by --dir git and by VARVE_DIR=git', async () => {
    const { repository, worktree } = makeWorktree()
    const cache = await openCache({ name: 'tool', dir: join(repository, '.git/varve/tool') })
    cache.namespace('n', { codec: 'text' }).put('key', 'value')
    await cache.close()
    for (const [args, env] of [
      [['--dir', 'git'], {}],
      [[], { VARVE_DIR: 'git' }],
    ] as const) {
      expect(runVarve(['get', 'key', ...args], { cwd: worktree, env })).toMatchObject({ status: 0, out: 'value' })
    }
  })
})

describe('gitDirectory', () => {
  it.each([
    ['names a directory that is gone', 'gitdir: /nowhere/app/.git/worktrees/feature\n'],
    ['is empty', ''],
    ['is not a text of Git', 'hello\n'],
    ['has two lines', 'gitdir: /tmp\ngitdir: /tmp\n'],
    ['is long', `gitdir: /${'a'.repeat(10_000)}\n`],
    ['names no directory', `gitdir: ${'\0'}\n`],
  ])('a .git file that %s is not a repository', (_, text) => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.git'), text)
    expect(gitDirectory(folder)).toBeUndefined()
  })

  it('an empty .git, as an image without history may have, is not a repository', () => {
    const folder = makeFolder()
    mkdirSync(join(folder, '.git'))
    expect(gitDirectory(folder)).toBeUndefined()
  })

  it('a commondir that names no directory is ignored', () => {
    const { repository, worktree } = makeWorktree()
    const own = join(repository, '.git/worktrees/feature')
    writeFileSync(join(own, 'commondir'), '../nowhere\n')
    expect(gitDirectory(worktree)).toBeUndefined()
    rmSync(join(own, 'commondir'))
    expect(gitDirectory(worktree)).toBe(own)
  })

  it.runIf(process.platform !== 'win32')(
    'a repository above a directory that all users may write to does not count',
    () => {
      const { repository } = makeWorktree()
      const open = join(repository, 'open')
      mkdirSync(join(open, 'mine'), { recursive: true })
      expect(gitDirectory(join(open, 'mine'))).toBe(join(repository, '.git'))
      chmodSync(open, 0o1777)
      expect(gitDirectory(join(open, 'mine'))).toBeUndefined()
    },
  )
})
