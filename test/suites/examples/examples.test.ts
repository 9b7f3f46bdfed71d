/** The examples, without the builds of `npm run test:suites -- examples`. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { compareFiles, filesOf } from './build.mjs'
import { EXAMPLES } from './projects.mjs'

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))
const FOLDERS = readdirSync(`${REPOSITORY}/examples`)

const read = (path: string): string => readFileSync(`${REPOSITORY}/${path}`, 'utf8')

it('each folder in examples/ is built by test:suites -- examples', () => {
  expect(EXAMPLES.map(({ name }) => name).toSorted()).toEqual(FOLDERS.toSorted())
})

it('an example whose builds may miss has the reason', () => {
  const isWrong = ({ missesMax = 0, missesElsewhere = 0, reason = '' }: (typeof EXAMPLES)[number]): boolean =>
    missesMax + missesElsewhere > 0 !== reason.length > 20
  expect(EXAMPLES.filter(isWrong)).toEqual([])
})

it('a list that a framework writes in any order is the same, also when another item is the last one, which has no comma', async () => {
  const written = (text: string): Promise<string[]> => {
    const project = makeFolder()
    writeFileSync(join(project, 'styles.mjs'), text)
    const example = { name: '', title: '', cached: '', pages: [], copies: 1, output: '.', unordered: [/styles/] }
    return filesOf(example, project)
  }
  const first = await written('const styles = {\n  a: one(),\n  b: two()\n}\n')
  expect(await written('const styles = {\n  b: two(),\n  a: one()\n}\n')).toEqual(first)
  expect(await written('const styles = {\n  b: two(),\n  a: two()\n}\n')).not.toEqual(first)
})

describe('a build that writes other files than one without Varve', () => {
  const wrote = (...files: string[]): { readonly files: string[] } => ({ files })
  const compare = (built: { readonly files: string[] }, again: { readonly files: string[] }): Promise<void> =>
    compareFiles('it', built, wrote('a 1', 'b 1'), () => Promise.resolve(again))

  it('is wrong if two builds without Varve write the same', async () => {
    await expect(compare(wrote('a 1', 'b 2'), wrote('a 1', 'b 1'))).rejects.toThrow(/: b$/)
    await expect(compare(wrote('a 1'), wrote('a 1', 'b 1'))).rejects.toThrow(/: b$/)
  })

  it('is not blamed on the cache if the tool writes others each time, and other files still are', async () => {
    await compare(wrote('a 1', 'b 2'), wrote('a 1', 'b 3'))
    await expect(compare(wrote('a 2', 'b 2'), wrote('a 1', 'b 3'))).rejects.toThrow(/: a$/)
    await expect(compare(wrote('a 2', 'b 2'), wrote('a 3', 'b 3'))).rejects.toThrow('no file in common')
  })
})

describe.each(EXAMPLES)('the example $name', ({ name, pages, title }) => {
  const { scripts, devDependencies } = JSON.parse(read(`examples/${name}/package.json`))

  it('an example has a build, and a README that names the installation and the lines that matter', () => {
    expect(scripts.build).not.toBe(undefined)
    const readme = read(`examples/${name}/README.md`)
    expect(readme).toContain('npm install --no-save varve @varve/plugins')
    expect(readme).toMatch(/@varve\/plugins\/\w+/)
    expect(readme).toContain(`npm run test:suites -- examples --only ${name}`)
  })

  it('an example depends on exact versions, with the lock file of these, and not on Varve, so that a checkout of Varve can be tested', () => {
    expect(Object.values(devDependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([])
    const { packages } = JSON.parse(read(`examples/${name}/package-lock.json`))
    expect(packages[''].devDependencies).toEqual(devDependencies)
    expect(Object.keys(packages).filter((path) => /node_modules\/(?:varve|@varve\/.*)$/.test(path))).toEqual([])
  })

  it('an example has the sources that the measurement copies, with the word in their names that it replaces', () => {
    expect(pages.filter((page) => !existsSync(`${REPOSITORY}/examples/${name}/${page}`) || !/orders/i.test(page))).toEqual([])
  })

  it('an example is in the table of docs/examples.md, with a picture of its measured times', () => {
    expect(read('docs/examples.md')).toContain(`\n| [${title}](../examples/${name}/README.md) |`)
    expect(existsSync(`${REPOSITORY}/docs/images/example-${name}.svg`)).toBe(true)
  })
})
