// @ts-check
// `npm run test:suites -- types`: compiles the program of `test/types` against the packed packages with each version of TypeScript, as ES modules
// with each way to find packages and as CommonJS, and writes the table of docs/platforms.md. `-- --only 5.8` compiles with one version, and
// writes nothing.
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeConsumer } from '../../../scripts/check/consumer.mjs'
import { at, targetDir } from '../../../scripts/common/root.mjs'
import { setup } from '../../../scripts/setup.mjs'
import { CommandFailed, run, runMain, step, StepFailed } from '../../../scripts/common/steps.mjs'
import { writeTable } from '../../../scripts/common/table.mjs'

const MODULES = ['adapters.ts', 'import.ts', 'remote.ts']
const WORKS = 'yes'
/** What TypeScript reports for a `require` of an ES module, which it supports since 5.8. */
const NO_REQUIRE = 'error TS1471'

/**
 * The ways to compile the program, by the head of their column.
 * @type {Readonly<Record<string, { module: string, moduleResolution: string, files: readonly string[] }>>}
 */
const WAYS = {
  'ES modules, `nodenext`': { module: 'NodeNext', moduleResolution: 'NodeNext', files: MODULES },
  '`node16`': { module: 'Node16', moduleResolution: 'Node16', files: MODULES },
  '`bundler`': { module: 'ESNext', moduleResolution: 'Bundler', files: MODULES },
  'CommonJS, `import()`': { module: 'NodeNext', moduleResolution: 'NodeNext', files: ['import.cts'] },
  'CommonJS, `require()`': { module: 'NodeNext', moduleResolution: 'NodeNext', files: ['require.cts'] },
}

/** The compilers by version: those installed beside this file, and the one that builds Varve. */
async function compilers() {
  if (!existsSync(join(import.meta.dirname, 'node_modules'))) {
    await step('npm ci: TypeScript', () =>
      run('npm', ['ci', '--ignore-scripts', '--no-workspaces'], { cwd: import.meta.dirname }),
    )
  }
  const { devDependencies } = JSON.parse(await readFile(join(import.meta.dirname, 'package.json'), 'utf8'))
  const folders = Object.keys(devDependencies).map((name) => join(import.meta.dirname, 'node_modules', name))
  return Promise.all(
    [...folders, at('node_modules/typescript')].map(async (folder) => {
      const { version, bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
      return { version: String(version), path: join(folder, bin.tsc) }
    }),
  )
}

/**
 * @param {string} compiler the path of tsc
 * @param {string} folder of the program
 * @param {string} way
 * @param {string} version
 */
async function compile(compiler, folder, way, version) {
  const { files, ...options } = WAYS[way] ?? { files: [] }
  const project = join(folder, 'tsconfig.way.json')
  await writeFile(project, JSON.stringify({ extends: './tsconfig.json', compilerOptions: options, files }))
  try {
    await run(process.execPath, [compiler, '--project', project], { cwd: folder })
    return WORKS
  } catch (error) {
    const isOld = Number(version.split('.')[0]) === 5 && Number(version.split('.')[1]) < 8
    if (isOld && way.endsWith('`require()`') && error instanceof CommandFailed && error.output.includes(NO_REQUIRE))
      return 'no'
    throw error
  }
}

await runMain(async () => {
  const { values: options } = parseArgs({ options: { only: { type: 'string' } } })
  await setup()
  const all = await compilers()
  const chosen = all.filter(({ version }) => options.only === undefined || version.startsWith(`${options.only}.`))
  if (chosen.length === 0)
    throw new Error(`--only takes one of ${all.map(({ version }) => version.split('.', 2).join('.')).join(', ')}`)
  const folder = join(targetDir, 'types')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await writeConsumer(folder)
  const head = ['TypeScript', ...Object.keys(WAYS)]
  /** @type {string[][]} */
  const rows = []
  for (const { version, path } of chosen) {
    await step(`TypeScript ${version}`, async () => {
      const cells = [version]
      for (const way of Object.keys(WAYS)) cells.push(await compile(path, folder, way, version))
      rows.push(cells)
    })
  }
  await rm(folder, { recursive: true })
  for (const row of [head, ...rows]) process.stdout.write(`${row.join(' | ')}\n`)
  if (rows.length < chosen.length) throw new StepFailed('types')
  if (options.only === undefined) await writeTable('docs/platforms.md', 'types', [head, ...rows])
})
