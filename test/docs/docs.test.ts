/**
 * Runs the code in every page of `docs/`, and in the READMEs, on both engines, as a reader would: in a folder of its own, with
 * the built packages. `page.ts` defines what makes a block run, a file or an expected output. Links between pages are checked.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow, slowOnWasm } from '../slow.ts'
import { type Block, blocksOf } from './page.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const ALL_PAGES = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'bench/README.md',
  'crates/core/FORMAT.md',
  'test/README.md',
  'test/safety/README.md',
  'test/suites/README.md',
  ...readdirSync(join(REPOSITORY, 'packages')).map((name) => `packages/${name}/README.md`),
  ...readdirSync(join(REPOSITORY, 'bench/limits')).map((name) => `bench/limits/${name}`),
  ...readdirSync(join(REPOSITORY, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(REPOSITORY, 'docs/decisions')).map((name) => `docs/decisions/${name}`),
  ...readdirSync(join(REPOSITORY, 'examples')).map((name) => `examples/${name}/README.md`),
]
const PAGES_RUN = ALL_PAGES.filter((path) => blocksOf(readPage(path)).some(({ kind }) => kind === 'run'))

/** Whether a page is about a plugin: its code runs a bundler, which takes seconds. */
const isOfPlugin = (path: string): boolean =>
  existsSync(join(REPOSITORY, 'packages/plugins/src', `${posix.basename(path, '.md')}.ts`))

/** @param path relative to the repository */
function readPage(path: string): string {
  return readFileSync(join(REPOSITORY, path), 'utf8')
}

/** A folder with everything that is installed in the repository, and a package.json with the type that `npm init -y` writes. */
function makeProject(type: 'commonjs' | 'module' = 'commonjs'): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'package.json'), `{ "type": "${type}" }\n`)
  const installed = join(REPOSITORY, 'node_modules')
  // Links to what is in node_modules, not to that folder: caches that an example makes beside it are its own.
  for (const name of readdirSync(installed).filter((each) => each !== '.cache')) {
    mkdirSync(join(folder, 'node_modules'), { recursive: true })
    symlinkSync(join(installed, name), join(folder, 'node_modules', name), 'junction')
  }
  return folder
}

function writeBlock(folder: string, path: string, code: string): string {
  const absolute = join(folder, path)
  mkdirSync(dirname(absolute), { recursive: true })
  writeFileSync(absolute, code)
  return absolute
}

/** Runs node in the folder and returns what was printed. Fails with all of it unless the exit code is 0. */
function node(folder: string, args: readonly string[], engine: string): string {
  const env = { ...process.env, VARVE_ENGINE: engine, VARVE_DIR: '', CACHE_DIR: '', FORCE_COLOR: '0', NODE_ENV: 'test' }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })
  expect(status, `${stdout}\n${stderr}`).toBe(0)
  return stdout
}

/** The JavaScript of a block: its own, or what TypeScript makes of it once its types are right. */
function compile(folder: string, { language, code, line }: Block): string {
  const path = writeBlock(folder, `line-${line}.${language.replace(/^([jt])s$/, 'm$1s')}`, code)
  if (!language.endsWith('ts')) return path
  const options = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    'node',
    '--skipLibCheck',
    '--outDir',
    folder,
  ]
  node(folder, [join(REPOSITORY, 'node_modules/typescript/bin/tsc'), ...options, path], 'auto')
  return path.replace(/\.mts$/, '.mjs')
}

/** Runs a block: a module, or commands of `npx varve`. Returns what it printed. */
function runBlock(folder: string, block: Block, engine: string): string {
  if (block.language !== 'sh') return node(folder, [compile(folder, block)], engine)
  return block.code
    .trim()
    .split('\n')
    .map((line) => {
      const [npx, varve, ...args] = line.split(' ')
      expect([npx, varve]).toEqual(['npx', 'varve'])
      return node(folder, [join(REPOSITORY, 'packages/varve/dist/bundle/cli.js'), ...args], engine)
    })
    .join('')
}

/** Runs a page: the output of its blocks and the output on the page, each with its line. */
function runPage(path: string, engine: string): { readonly printed: string[]; readonly expected: string[] } {
  // webpack parses the sources of an application by this type.
  const folder = makeProject(path === 'docs/webpack.md' ? 'module' : 'commonjs')
  const [printed, expected]: [string[], string[]] = [[], []]
  let last = ''
  for (const block of blocksOf(readPage(path))) {
    if (block.kind === 'file') writeBlock(folder, block.path, block.code)
    else if (block.kind === 'run') last = runBlock(folder, block, engine)
    else {
      printed.push(`${path}:${block.line}\n${last}`)
      expected.push(`${path}:${block.line}\n${block.code}`)
    }
  }
  return { printed, expected }
}

describe.each(['native', 'wasm'] as const)('code in the documentation: %s', (engine) => {
  const expectPrinted = (path: string): void => {
    const { printed, expected } = runPage(path, engine)
    expect(printed).toEqual(expected)
  }

  it.each(PAGES_RUN.filter((path) => !isOfPlugin(path)))(
    '%s prints what the page shows',
    slowOnWasm(engine),
    expectPrinted,
  )
  it.each(PAGES_RUN.filter(isOfPlugin))('%s prints what the page shows', slow, expectPrinted)
})

describe('links in the documentation', () => {
  /** Anchors of a page: its own, and GitHub's of headings: of equal ones, the second ends in -1, the third in -2. */
  function anchorsOf(path: string): Set<string> {
    const counts = new Map<string, number>()
    const anchors = [...readPage(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
      const anchor = heading
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-')
      const count = counts.get(anchor) ?? 0
      counts.set(anchor, count + 1)
      return count === 0 ? anchor : `${anchor}-${count}`
    })
    return new Set([...anchors, ...[...readPage(path).matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)])
  }

  function brokenLinks(path: string): string[] {
    const links = readPage(path)
      .replace(/^```[^]*?^```/gm, '')
      .matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)
    return [...links]
      .map(([, markdown, html]) => markdown ?? html ?? '')
      .filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(path, link))
  }

  function leadsSomewhere(path: string, link: string): boolean {
    const [file = '', anchor] = link.split('#')
    const target = file === '' ? path : posix.join(posix.dirname(path), file)
    if (!existsSync(join(REPOSITORY, target))) return false
    return anchor === undefined || anchorsOf(target).has(anchor)
  }

  it.each(ALL_PAGES)('every relative link of %s leads to a file and a heading', (path) => {
    expect(brokenLinks(path)).toEqual([])
  })

  it.each(['docs/threat-model.md', 'test/README.md', 'CONTRIBUTING.md'])(
    'every path and script that %s names exists',
    (path) => {
      const page = readPage(path)
      const { scripts }: { scripts: Record<string, string> } = JSON.parse(readPage('package.json'))
      const paths = [...page.matchAll(/`((?:bench|crates|docs|packages|scripts|site|test)\/[^`*<>\s]+)`/g)].map(
        ([, name = '']) => name,
      )
      const names = [...page.matchAll(/`npm run ([\w:-]+)/g)].map(([, name = '']) => name)
      expect(Math.min(paths.length, names.length)).toBeGreaterThan(5)
      const built = /^packages\/varve\/(?:native|generated)$|\/dist$/
      expect(paths.filter((name) => !built.test(name) && !existsSync(join(REPOSITORY, name)))).toEqual([])
      expect(names.filter((name) => scripts[name] === undefined)).toEqual([])
    },
  )

  it('every page of docs/ and of bench/limits/ can be reached from the README', () => {
    const reached = new Set(['README.md'])
    for (const path of reached) {
      if (!path.endsWith('.md') || !ALL_PAGES.includes(path)) continue
      const links = [...readPage(path).matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link)
      for (const link of links.filter((each) => !each.includes(':'))) reached.add(posix.join(posix.dirname(path), link))
    }
    expect(ALL_PAGES.filter((path) => /^(?:docs|bench\/limits)\//.test(path) && !reached.has(path))).toEqual([])
  })
})

it('CI on the pages trusts a push to main, and not the name of a branch alone, which a pull request can have', () => {
  const lines = ALL_PAGES.flatMap((path) => readPage(path).split('\n'))
  const deciding = lines.filter((line) => /\bif: |secrets\.|&&/.test(line) && line.includes('github.'))
  expect(deciding.length).toBeGreaterThanOrEqual(4)
  for (const line of deciding) expect(line).toContain("github.event_name == 'push' && github.ref == 'refs/heads/main'")
})

describe('what is run of a page', () => {
  it('the pages of tasks and the README are among those whose code is run', () => {
    expect(PAGES_RUN).toContain('docs/tasks.md')
    expect(PAGES_RUN).toContain('README.md')
  })

  it('blocks in js and ts; files and outputs by their first line; nothing else', () => {
    const fence = (words: string, code: string): string => `text\n\n\`\`\`${words}\n${code}\n\`\`\`\n`
    const page = [
      fence('js', 'a'),
      fence('ts', 'b'),
      fence('text output', 'c'),
      fence('css file=src/a.css', 'd'),
      fence('js skip', 'e'),
      fence('sh', 'f'),
      fence('', 'g'),
      fence('sh run', 'npx varve ls'),
    ]
    expect(blocksOf(page.join('')).map(({ kind, line, path, code }) => [kind, line, path, code])).toEqual([
      ['run', 4, '', 'a\n'],
      ['run', 9, '', 'b\n'],
      ['output', 14, '', 'c\n'],
      ['file', 19, 'src/a.css', 'd\n'],
      ['run', 39, '', 'npx varve ls\n'],
    ])
  })

  it('code that fails, types that are wrong and other output are found', () => {
    const folder = makeProject()
    const block = (language: string, code: string): Block => ({ line: 1, kind: 'run', language, path: '', code })
    expect(() => node(folder, [compile(folder, block('js', "throw new Error('planted')"))], 'auto')).toThrow('planted')
    expect(() =>
      compile(folder, block('ts', "import { openCache } from 'varve'\nawait openCache({ nmae: 'x' })")),
    ).toThrow('nmae')
    const path = compile(
      folder,
      block('ts', "import { openCache } from 'varve'\nconst text: string = typeof openCache\nconsole.log(text)"),
    )
    expect(node(folder, [path], 'auto')).toBe('function\n')
  })
})
