// @ts-check
/**
 * Plugins that are known to keep nothing between their hooks (`rollup/state.ts` of the plugins lists them): a build from the cache, also
 * after an edit, emits what a build without a cache does.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run, step } from '../../../scripts/common/steps.mjs'
import { PROJECTS } from './projects.mjs'

/** @typedef {import('./projects.mjs').Project} Project */
/** @typedef {{ emitted: [path: string, text: string][], hits: number, misses: number, warnings: string[] }} Built */

/** Builds all projects, or those whose name matches. Returns the number of wrong ones. @param {string} filter @param {(line: string) => void} report */
export async function runKnown(filter, report) {
  const here = import.meta.dirname
  if (!existsSync(join(here, 'node_modules')))
    await step('npm ci: plugins', () => run('npm', ['ci', '--ignore-scripts', '--no-workspaces'], { cwd: here }))
  let wrong = 0
  for (const [name, project] of Object.entries(PROJECTS)) {
    if (!new RegExp(filter, 'i').test(name)) continue
    const difference = tryProject(join(here, 'target', name.replaceAll(/\W/g, '-')), project)
    if (difference !== undefined) wrong += 1
    report(
      `${difference === undefined ? 'right' : 'WRONG'} known plugins / ${name}${difference === undefined ? '' : `: ${difference}`}`,
    )
  }
  return wrong
}

/** @param {string} folder @param {Project} project @returns {string | undefined} */
function tryProject(folder, project) {
  try {
    return differenceIn(folder, project)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Returns how a build from the cache is wrong. @param {string} folder @param {Project} project */
function differenceIn(folder, project) {
  const { tool, plugin, imports, make, external = [], files, edit } = project
  rmSync(folder, { recursive: true, force: true })
  const config = `${imports}\nexport const plugin = ${JSON.stringify(plugin)}\nexport const external = ${JSON.stringify(external)}\nexport default () => ${make}\n`
  const all = { ...files, 'known.config.mjs': config, 'package.json': '{ "name": "known", "type": "module" }\n' }
  for (const [path, text] of Object.entries(all)) write(join(folder, path), text)
  const plain = build(folder, tool, 'plain')
  const cold = build(folder, tool, 'cached')
  const warm = build(folder, tool, 'cached')
  const [file, before, after] = edit
  write(join(folder, file), readFileSync(join(folder, file), 'utf8').replaceAll(before, after))
  const editedPlain = build(folder, tool, 'plain')
  const edited = build(folder, tool, 'cached')
  if (!isSame(plain, cold)) return 'the first build differs'
  if (!isSame(plain, warm)) return 'a build from the cache differs'
  if (!isSame(editedPlain, edited)) return 'a build after an edit differs'
  if (isSame(plain, editedPlain)) return 'the edit changes nothing'
  if (warm.hits === 0 || warm.misses > 0) return `${warm.hits} hits and ${warm.misses} misses: ${warm.warnings.join()}`
  return undefined
}

/** @param {Built} one @param {Built} other */
const isSame = (one, other) => JSON.stringify(one.emitted) === JSON.stringify(other.emitted)

/** @param {string} folder @param {string} tool @param {'plain' | 'cached'} way @returns {Built} */
function build(folder, tool, way) {
  const program = join(import.meta.dirname, 'build.mjs')
  const { stdout, stderr } = spawnSync(process.execPath, [program, tool, way], { cwd: folder, encoding: 'utf8' })
  const line = stdout.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new Error(`the build died: ${stdout}${stderr}`)
  return JSON.parse(line)
}

/** @param {string} path @param {string} text */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
