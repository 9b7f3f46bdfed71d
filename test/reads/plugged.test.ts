/** Packages of Yarn Plug'n'Play: archives whose paths have the version, and stay while anything uses them. `test/suites/pnp` runs Yarn. */
import { readFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import { expect, it } from 'vitest'
import { Counted, onEngine, type Project, type Subject, withCache } from '../task/subject.ts'

const TOP = 'workspace:.'

/** What each package gets, by its name and reference; all packages lie in archives of the project. */
type Packages = Readonly<Record<string, Readonly<Record<string, string>>>>

const require = createRequire(import.meta.url)

/** Runs with the API of Plug'n'Play for these packages. */
async function plugged<T>(packages: Packages, run: () => Promise<T>): Promise<T> {
  const locators = Object.keys(packages).map((key) => ({
    name: key.slice(0, key.indexOf('@')),
    reference: key.slice(key.indexOf('@') + 1),
  }))
  const api = {
    findPackageLocator(path: string) {
      const [, name, version] = /(\w+)-npm-([\d.]+)-\w+-\w+\.zip/.exec(path) ?? []
      return (
        locators.find((one) => one.name === name && one.reference === `npm:${version}`) ?? {
          name: 'project',
          reference: TOP,
        }
      )
    },
    getPackageInformation: ({ name, reference }: { name: string; reference: string }) => ({
      packageDependencies: new Map(Object.entries(packages[`${name}@${reference}`] ?? {})),
    }),
    getDependencyTreeRoots: () => [{ name: 'project', reference: TOP }],
    getAllLocators: () => locators,
  }
  Reflect.set(Module, 'findPnpApi', () => api)
  Object.defineProperty(process.versions, 'pnp', { value: '3', configurable: true })
  try {
    return await run()
  } finally {
    Reflect.deleteProperty(Module, 'findPnpApi')
    Reflect.deleteProperty(process.versions, 'pnp')
  }
}

/** Does work that requires a package, in a cache of its own. Returns the words for a miss; undefined for a hit. */
function use(subject: Subject, project: Project, packages: Packages, path: string): Promise<string | undefined> {
  return plugged(packages, () =>
    withCache(subject, project, async (cache) => {
      const counted = new Counted(cache, project.root, { trackReads: true })
      const { differences } = await counted.task.why('id')
      await counted.run({ id: 'id' }, () => require(project.path(path)))
      return counted.count === 0
        ? undefined
        : differences.map(({ name, before, after }) => `${name} ${before} ${after}`).join()
    }),
  )
}

const READER = '.yarn/cache/reader-npm-1.0.0-0123456789-10c0.zip/node_modules/reader'
const READ = '.yarn/cache/read-npm-1.0.0-0123456789-10c0.zip/node_modules/read'

const PACKAGES: Packages = {
  [`project@${TOP}`]: { reader: 'npm:1.0.0', other: 'npm:1.0.0' },
  'reader@npm:1.0.0': { read: 'npm:1.0.0' },
  'read@npm:1.0.0': {},
  'other@npm:1.0.0': {},
}

onEngine('native', (subject) => {
  async function makeProject(): Promise<Project> {
    const project = subject.project()
    for (const folder of [READER, READ]) project.write(`${folder}/package.json`, '{ "version": "1.0.0" }')
    await project.settle(`${READER}/index.js`, `module.exports = require(${JSON.stringify(project.path(READ))})`)
    project.write(`${READ}/index.js`, 'module.exports = 1')
    return project
  }

  it('a package of Plug and Play that gets another version of what it requires is a miss, though its archives stay', async () => {
    const project = await makeProject()
    expect(await use(subject, project, PACKAGES, READER)).toBe('')
    expect(await use(subject, project, PACKAGES, READER)).toBeUndefined()
    const changed = { ...PACKAGES, 'reader@npm:1.0.0': { read: 'npm:2.0.0' }, 'read@npm:2.0.0': {} }
    expect(await use(subject, project, changed, READER)).toMatch(/^\S*reader\/package\.json b\S+ 1\.0\.0 b\S+ 1\.0\.0$/)
  })

  it('a package of Plug and Play whose version changes is a miss that names both versions', async () => {
    const project = await makeProject()
    expect(await use(subject, project, PACKAGES, READ)).toBe('')
    const { 'read@npm:1.0.0': _, ...others } = PACKAGES
    expect(await use(subject, project, { ...others, 'read@npm:2.0.0': {} }, READ)).toMatch(
      /^\S*read\/package\.json b\S+ 1\.0\.0 b\S+ 2\.0\.0$/,
    )
  })

  it('a package of Plug and Play that a workspace gets in another version is a miss, though others keep the old one', async () => {
    const project = await makeProject()
    expect(await use(subject, project, PACKAGES, READ)).toBe('')
    const changed = {
      ...PACKAGES,
      [`project@${TOP}`]: { reader: 'npm:1.0.0', read: 'npm:2.0.0' },
      'read@npm:2.0.0': {},
    }
    expect(await use(subject, project, changed, READ)).toMatch(/read\/package\.json/)
  })

  it('a package of Plug and Play that nothing reads may change', async () => {
    const project = await makeProject()
    expect(await use(subject, project, PACKAGES, READER)).toBe('')
    const { 'other@npm:1.0.0': _, ...others } = PACKAGES
    const changed = {
      ...others,
      [`project@${TOP}`]: { reader: 'npm:1.0.0', other: 'npm:2.0.0' },
      'other@npm:2.0.0': {},
    }
    expect(await use(subject, project, changed, READER)).toBeUndefined()
  })

  it("an archive in Yarn's cache is no input, because the packages in it are", async () => {
    const project = subject.project()
    const archive = '.yarn/cache/read-npm-1.0.0-0123456789-10c0.zip'
    const once = (): Promise<number> =>
      plugged(PACKAGES, () =>
        withCache(subject, project, async (cache) => {
          const counted = new Counted(cache, project.root, { trackReads: true })
          await counted.run({ id: 'id' }, () => String(readFileSync(project.path(archive))))
          return counted.count
        }),
      )
    await project.settle(archive, 'one')
    expect(await once()).toBe(1)
    await project.settle(archive, 'two')
    expect(await once()).toBe(0)
  })
})
