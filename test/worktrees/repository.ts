/** A Git repository in a temporary folder. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../folders.ts'

/** Settings of the machine, such as templates and hooks, play no part. */
const ENV = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
}
const SETTINGS = [
  'user.name=test',
  'user.email=test@localhost',
  'init.defaultBranch=main',
  'protocol.file.allow=always',
]

/** Runs git in `folder`. */
export function git(folder: string, ...args: readonly string[]): void {
  const settings = SETTINGS.flatMap((setting) => ['-c', setting])
  const { status, stderr } = spawnSync('git', [...settings, ...args], {
    cwd: folder,
    env: { ...process.env, ...ENV },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
}

/** The path of a repository `app` without commits. Its parent has no other one. */
export function makeRepository(): string {
  const folder = join(realpathSync(makeFolder()), 'app')
  mkdirSync(folder)
  git(folder, 'init')
  return folder
}

/** Commits every file. */
export function commitAll(folder: string): void {
  git(folder, 'add', '--all')
  git(folder, 'commit', '--message', 'all')
}

/** Adds a worktree beside the repository, on a branch of its name. */
export function addWorktree(repository: string, name: string): string {
  const folder = join(repository, '..', name)
  git(repository, 'worktree', 'add', '-b', name, folder)
  return folder
}
