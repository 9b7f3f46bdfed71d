/** What work loads and opens, in the Node.js that runs the tests and in those that `npm run test:platforms -- runtimes` has installed. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const PROGRAM = fileURLToPath(new URL('imports.mjs', import.meta.url))
const RUNTIMES = fileURLToPath(new URL('../../target/runtimes/node_modules', import.meta.url))
const HOOKED = `process.exit(typeof process.getBuiltinModule?.('node:module').registerHooks === 'function' ? 0 : 1)`

const nodes = [
  process.execPath,
  ...[22, 24].map((major) => join(RUNTIMES, `node-${major}`, 'bin/node')).filter(existsSync),
]

/** Whether a Node.js shows the ES modules that it loads. */
function isHooked(node: string): boolean {
  try {
    execFileSync(node, ['--eval', HOOKED])
    return true
  } catch {
    return false
  }
}

interface Row {
  readonly name: string
  readonly load: string
  readonly files: Readonly<Record<string, string>>
  /** Files that are written later. */
  readonly change: Readonly<Record<string, string>>
  readonly isAtOnce?: boolean
}

const packageIn = (folder: string, word: number): Record<string, string> => ({
  [`${folder}node_modules/words/package.json`]: `{ "name": "words", "version": "${word}.0.0", "exports": "./index.mjs" }`,
  [`${folder}node_modules/words/index.mjs`]: `export default ${word}`,
})
const lazily = (name: string): string =>
  `export const load = () => import('${name}').then((module) => module.default, () => 'none')`

const LOADED_BY_REQUIRE: Row = {
  name: 'a module that a required module had loaded for another task',
  load: 'top.cjs',
  files: {
    'top.cjs': "module.exports = require('./middle.cjs')",
    'middle.cjs': "module.exports = require('./low.cjs')",
    'low.cjs': 'module.exports = 1',
  },
  change: { 'low.cjs': 'module.exports = 2' },
}

const IMPORTED: readonly Row[] = [
  ...[false, true].map((isAtOnce) => ({
    name: `a module that an imported module had loaded for another task${isAtOnce ? ', at the same time' : ''}`,
    load: 'top.mjs',
    files: {
      'top.mjs': "export * from './middle.mjs'",
      'middle.mjs': "import low from './low.mjs'\nexport const load = () => low",
      'low.mjs': 'export default 1',
    },
    change: { 'low.mjs': 'export default 2' },
    isAtOnce,
  })),
  {
    name: 'a missing module that appears',
    load: 'in/top.mjs',
    files: { 'in/top.mjs': lazily('./low.mjs?query') },
    change: { 'in/low.mjs': 'export default 2' },
  },
  {
    name: 'a missing package that appears',
    load: 'in/top.mjs',
    files: { 'in/top.mjs': lazily('words') },
    change: packageIn('in/', 2),
  },
  {
    name: 'a nearer package',
    load: 'in/top.mjs',
    files: { 'in/top.mjs': lazily('words'), ...packageIn('', 1) },
    change: packageIn('in/', 2),
  },
  {
    name: 'a module by a name in imports',
    load: 'in/top.mjs',
    files: {
      'in/top.mjs': lazily('#low'),
      'package.json': '{ "imports": { "#low": "./low.mjs" } }',
      'low.mjs': 'export default 1',
      'new.mjs': 'export default 2',
    },
    change: { 'package.json': '{ "imports": { "#low": "./new.mjs" } }' },
  },
  {
    name: 'where import.meta.resolve leads',
    load: 'in/top.mjs',
    files: { 'in/top.mjs': "export const load = () => import.meta.resolve('words').length", ...packageIn('', 1) },
    change: packageIn('in/', 2),
  },
]

interface Built {
  readonly made: readonly unknown[]
  readonly hits: readonly number[]
}

interface Project {
  write(files: Readonly<Record<string, string>>): void
  build(order?: object): Built
  path(name: string): string
}

/** A project that a Node.js builds. */
function makeProject(node: string, order: object): Project {
  const folder = makeFolder()
  const write = (all: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
  }
  write({ 'package.json': '{}' })
  return {
    write,
    build: (more) =>
      JSON.parse(
        execFileSync(node, ['--no-warnings', PROGRAM, JSON.stringify({ folder, ...order, ...more })], {
          encoding: 'utf8',
        }),
      ),
    path: (name) => join(folder, name),
  }
}

function expectMiss(node: string, { load, files, change, isAtOnce }: Row): void {
  const { write, build } = makeProject(node, { load, isAtOnce })
  write(files)
  const { made: before } = build()
  expect(build()).toEqual({ made: before, hits: [1, 1] })
  write(change)
  const { made, hits } = build()
  expect(hits).toEqual([0, 0])
  expect(made).not.toContain(before[0])
  expect(build()).toEqual({ made, hits: [1, 1] })
}

it.each(nodes)(
  'results are made again when a module changes that a required module had loaded for another task, in %s',
  (node) => {
    expectMiss(node, LOADED_BY_REQUIRE)
  },
)

it.each(nodes.filter(isHooked).flatMap((node) => IMPORTED.map((row) => [row.name, node, row] as const)))(
  'results are made again when what is imported changes: %s, in %s',
  (_, node, row) => expectMiss(node, row),
)

it.each(
  nodes.filter(isHooked).flatMap((node) => [
    [
      'requires',
      node,
      `import { createRequire } from 'node:module'\nconst { DatabaseSync } = createRequire(import.meta.url)('node:sqlite')`,
    ],
    ['imports', node, `import { DatabaseSync } from 'node:sqlite'`],
  ]),
)('results of work that opens a database are not stored: it %s node:sqlite, in %s', (_, node, code) => {
  const { write, build, path } = makeProject(node, { load: 'top.mjs' })
  write({
    'top.mjs': `${code}\nexport const load = () => void new DatabaseSync(${JSON.stringify(path('a.db'))}).close()`,
  })
  build()
  expect(build().hits).toEqual([0, 0])
})

// The second task noted the file as it was then, and used the code that the process had in memory.
it.each(
  nodes.flatMap(
    (node) =>
      [
        ['requires', node, 'top.cjs', (word: number) => `module.exports = ${word}`],
        ...(isHooked(node)
          ? [['imports', node, 'top.mjs', (word: number) => `export const load = () => ${word}`] as const]
          : []),
      ] as const,
  ),
)(
  'a result is not stale that a process makes with a module in memory after an edit of its file: it %s it, in %s',
  (_, node, load, code) => {
    const { write, build } = makeProject(node, { load })
    write({ [load]: code(1) })
    expect(build({ edits: { [load]: code(2) } }).made).toEqual([1, 1])
    expect(build().made).toEqual([2, 2])
  },
)
