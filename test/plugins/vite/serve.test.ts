/** The cache in Vite's development server, beside a server without it: equal responses, and equal updates for the browser. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Random, randomOf, runSeed } from '../../random.ts'
import { slow } from '../../slow.ts'
import { commitAll, git } from '../../worktrees/repository.ts'
import type { Stats } from '../stale/project.ts'
import { ServedProject } from './served.ts'
import { INSTALLED, installed, PROJECTS } from './served-projects.ts'

const CACHE = 'node_modules/.cache/varve'
const EDITS = 50
const EDITS_PER_LIFE = 10

describe('varve, in the development server of Vite', () => {
  it(
    'a server that is killed while idle leaves its results to the next one, which sends the same updates',
    slow,
    async () => {
      const project = await started(PROJECTS.Vue)
      const { 'src/part0.vue': before = '' } = PROJECTS.Vue
      await project.edit('an edit of the template', { 'src/part0.vue': before.replace('of 10', 'of 11') })
      await project.compare('an edit of the template')
      project.kill()
      project.write({ 'src/part0.vue': before, 'src/part1.vue': before })
      await project.start()
      await project.compare('edits while no server runs')
      await project.idle()
      for (const [from, to] of [
        ['of 10', 'of 12'],
        ['order: 0', 'order: 5'],
      ] as const) {
        await project.edit(`${from} to ${to}`, {
          'src/part0.vue': before.replace(from, to),
          'src/part2.vue': before.replace(from, to),
        })
        await project.compare(`${from} to ${to}`)
        await project.edit('the same undone', { 'src/part0.vue': before, 'src/part2.vue': before })
        await project.compare('the same undone')
      }
      expect(hitsOf(await project.close())).toBeGreaterThan(20)
    },
  )

  it(
    'an edit of the config runs the plugins in the next server, and an update of a dependency in this one',
    slow,
    async () => {
      const project = await started({ ...PROJECTS.MDX, 'package-lock.json': '{ "lockfileVersion": 3 }\n' })
      await project.edit('an update of a dependency', {
        'package-lock.json': '{ "lockfileVersion": 3, "packages": {} }\n',
      })
      await project.edit('an edit', { 'src/part0.mdx': '# Other\n' })
      await project.compare('an update of a dependency')
      expect(hitsOf(await project.close())).toBe(0)
      await project.start()
      await project.compare('the start with the other dependency')
      await project.edit('an edit of the config', { 'banner.mjs': "export const banner = 'two'\n" })
      await project.restart()
      await project.compare('an edit of the config')
      expect(hitsOf(await project.close())).toBe(0)
      await project.start()
      await project.compare('the start with the other config')
      await project.close()
      await project.start()
      await project.compare('the second start with the other config')
      expect(hitsOf(await project.close())).toBeGreaterThan(5)
    },
  )

  it('each environment, also an own one, has results of its own, which the next server takes from the cache', async () => {
    const project = await started(INSTALLED)
    const [cold] = await project.close()
    await project.start()
    expect(await project.compare('the second start')).toBeGreaterThan(18)
    const [warm] = await project.close()
    // Six parts, the entry and the package, in the environments client, ssr and edge.
    expect([cold?.hits, cold?.misses, warm?.hits, warm?.misses]).toEqual([0, 24, 24, 0])
  }, 240_000)

  it(
    'another version of an installed plugin and of a package is served after a restart, and the old one until then',
    slow,
    async () => {
      const project = await started(INSTALLED)
      await project.change(() => project.write(installed('2.0.0')))
      await project.compare('the update')
      await project.edit('an edit', { 'src/part0.js': 'export default [2, 0]\n' })
      await project.compare('an edit after the update')
      await project.restart()
      await project.compare('a restart within the process')
      expect(hitsOf(await project.close())).toBe(0)
      await project.start()
      await project.compare('the start with the new version')
      expect(hitsOf(await project.close())).toBe(0)
      project.write(installed('1.0.0'))
      await project.start()
      await project.compare('the start with the old version again')
      expect(hitsOf(await project.close())).toBeGreaterThan(10)
    },
  )

  it('another branch is served as without a cache, while servers run and after they start again', slow, async () => {
    const project = await started({ ...PROJECTS.MDX, '.gitignore': 'node_modules\n' })
    const switchTo = (branch: string): void => git(project.folder, 'checkout', '--quiet', branch)
    git(project.folder, 'init')
    commitAll(project.folder)
    git(project.folder, 'checkout', '-b', 'other')
    project.write({
      'src/part0.mdx': '# Another branch\n',
      'src/part1.mdx': '# One more\n',
      'banner.mjs': "export const banner = 'two'\n",
    })
    commitAll(project.folder)
    switchTo('main')
    await project.close()
    let hits = 0
    for (let turn = 0; turn < 2; turn++) {
      await project.start()
      for (const branch of ['other', 'main']) {
        await project.compare(`the start, turn ${turn}`)
        await project.change(() => switchTo(branch))
        await project.compare(`the switch to ${branch}, turn ${turn}`)
      }
      hits += hitsOf(await project.close())
      switchTo('other')
      await project.start()
      await project.compare(`the start on the other branch, turn ${turn}`)
      hits += hitsOf(await project.close())
      switchTo('main')
    }
    expect(hits).toBeGreaterThan(20)
  })

  const inAnotherCheckout = async (name: 'MDX' | 'Vue'): Promise<void> => {
    const project = await started(PROJECTS[name])
    await project.close()
    // Beside the first one, because the program that starts the servers is an input, too, and has to be as far away.
    const other = new ServedProject(PROJECTS[name], `${project.folder}-with-a-longer-name`)
    onTestFinished(() => rmSync(other.folder, { recursive: true, force: true }))
    cpSync(join(project.folder, CACHE), join(other.folder, CACHE), { recursive: true })
    await other.start()
    await other.compare('the first start in another checkout')
    const stats = await other.close()
    expect(stats.map(({ misses, reasons }) => [misses, reasons])).toEqual([[0, {}]])
    expect(hitsOf(stats)).toBeGreaterThan(17)
  }
  it.each(['Vue', 'MDX'] as const)(
    'another checkout finds all results of %s, whose code has its own paths',
    slow,
    inAnotherCheckout,
  )

  const longer = { ...slow, timeout: 900_000 }
  it.each(Object.entries(PROJECTS))(
    `%s: equal responses through ${EDITS} random edits and restarts`,
    longer,
    async (name, files) => {
      const seed = runSeed(`serve, ${name}`)
      const random = randomOf(seed)
      const project = await started(files)
      const first = Object.fromEntries(project.sources.map((path) => [path, project.read(path)]))
      const texts = new Set(Object.values(first))
      let hits = 0
      for (let count = 1; count <= EDITS; count++) {
        const edits = randomEdits(project, random, [...texts])
        for (const text of Object.values(edits)) texts.add(text)
        const about = `edit ${count} of seed ${seed}`
        if (count % EDITS_PER_LIFE === 0) {
          if (count % (2 * EDITS_PER_LIFE) === 0) await project.restart()
          else {
            hits += hitsOf(await project.close())
            // Back to texts whose results are stored: those of files that changed while a server runs are not, so edits alone may hit none.
            project.write({ ...first, ...edits })
            await project.start()
          }
        } else await project.edit(about, edits)
        await project.compare(about)
        // A plugin runs for the files of hits while the server is idle, before it can compare them with what they become.
        if (count % EDITS_PER_LIFE === 0 || random(3) > 0) await project.idle()
      }
      hits += hitsOf(await project.close())
      // Three starts of a process: at least three parts have their first text, in three environments.
      expect(hits).toBeGreaterThan(26)
    },
  )
})

function hitsOf(stats: readonly Stats[]): number {
  return stats.reduce((sum, { hits }) => sum + hits, 0)
}

/** A project whose servers have answered once. */
async function started(files: Readonly<Record<string, string>>): Promise<ServedProject> {
  const project = new ServedProject(files)
  await project.start()
  await project.compare('the first start')
  await project.idle()
  return project
}

/** One file with another number or with an earlier text; or three files, as another branch would have them. */
function randomEdits(project: ServedProject, random: Random, texts: readonly string[]): Record<string, string> {
  const paths = project.sources
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
  const count = random(5) === 0 ? 3 : 1
  const chosen = Array.from({ length: count }, () => pick(paths))
  return Object.fromEntries(
    chosen.map((path) => [path, random(3) === 0 ? pick(texts) : withOtherNumber(project.read(path), random)]),
  )
}

function withOtherNumber(text: string, random: Random): string {
  const numbers = [...text.matchAll(/\d+/g)]
  const at = numbers[random(numbers.length)]?.index ?? 0
  return `${text.slice(0, at)}${text.slice(at).replace(/^\d+/, String(1 + random(6)))}`
}
