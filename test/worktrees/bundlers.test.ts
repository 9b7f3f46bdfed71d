/** Bundlers with plugins on the task layer, in worktrees that share one cache. */
import { cpSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { buildWith, makeApplication, MODULES } from '../plugins/scenarios.ts'
import { slow } from '../slow.ts'
import { addWorktree, commitAll, makeRepository } from './repository.ts'

const OPTIONS = { options: { dir: 'git' } }

/** Tools, and whether they are addons themselves. */
const TOOLS = [
  ['vite', true],
  ['rollup', false],
  ['rolldown', true],
  ['esbuild', false],
] as const

it.each(TOOLS)(
  "%s: a new worktree with dir: 'git' takes every module from the cache, with the output of a build without one",
  slow,
  async (tool, isAddon) => {
    const build = buildWith(fileURLToPath(new URL(`../plugins/${tool}/build.mjs`, import.meta.url)), isAddon)
    // The plugin's own files are outside the project, and stay as far away.
    const app = makeRepository()
    cpSync(makeApplication(), app, { recursive: true })
    commitAll(app)
    const worktree = addWorktree(app, 'feature')
    const first = await build(app, OPTIONS)
    expect(first.ran.length).toBeGreaterThanOrEqual(MODULES)
    const expected = await build(worktree, { isCached: false })
    const second = await build(worktree, OPTIONS, true)
    expect([second.warnings, second.ran, second.digest]).toEqual([expected.warnings, [], expected.digest])
  },
)
