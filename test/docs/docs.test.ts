/**
 * Runs the code in every page of `docs/` on both engines, as a reader would: in a folder of its own, with the built packages.
 * `page.ts` says what makes a block run, a file or an expected output.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { type Block, blocksOf } from './page.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const DOCS = join(REPOSITORY, 'docs')
const PAGES = readdirSync(DOCS).filter((name) => name.endsWith('.md') && blocksOf(readPage(name)).some(({ kind }) => kind === 'run'))

function readPage(name: string): string {
  return readFileSync(join(DOCS, name), 'utf8')
}

/** A folder with a package.json and everything that is installed in the repository. */
function makeProject(): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
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
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck', '--outDir', folder]
  node(folder, [join(REPOSITORY, 'node_modules/typescript/bin/tsc'), ...options, path], 'auto')
  return path.replace(/\.mts$/, '.mjs')
}

/** Runs a page: what its blocks printed, and what the page says, each with its line. */
function runPage(name: string, engine: string): { readonly printed: string[]; readonly expected: string[] } {
  const folder = makeProject()
  const [printed, expected]: [string[], string[]] = [[], []]
  let last = ''
  for (const block of blocksOf(readPage(name))) {
    if (block.kind === 'file') writeBlock(folder, block.path, block.code)
    else if (block.kind === 'run') last = node(folder, [compile(folder, block)], engine)
    else {
      printed.push(`docs/${name}:${block.line}\n${last}`)
      expected.push(`docs/${name}:${block.line}\n${block.code}`)
    }
  }
  return { printed, expected }
}

describe.each(['native', 'wasm'])('code in the documentation: %s', (engine) => {
  it.each(PAGES)('docs/%s', (name) => {
    const { printed, expected } = runPage(name, engine)
    expect(printed).toEqual(expected)
  })
})

it('what CI trusts, a push to main, is not told by the name of a branch alone, which a pull request can have', () => {
  const lines = ['README.md', 'SECURITY.md', ...readdirSync(DOCS).map((name) => `docs/${name}`)]
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => readFileSync(join(REPOSITORY, name), 'utf8').split('\n'))
  const deciding = lines.filter((line) => /\bif: |secrets\.|&&/.test(line) && line.includes('github.'))
  expect(deciding.length).toBeGreaterThanOrEqual(4)
  for (const line of deciding) expect(line).toContain("github.event_name == 'push' && github.ref == 'refs/heads/main'")
})

describe('what is run of a page', () => {
  it('there are pages', () => {
    expect(PAGES).toContain('tasks.md')
  })

  it('blocks in js and ts; files and outputs by their first line; nothing else', () => {
    const fence = (words: string, code: string): string => `text\n\n\`\`\`${words}\n${code}\n\`\`\`\n`
    const page = [
      fence('js', 'a'), fence('ts', 'b'), fence('text output', 'c'), fence('css file=src/a.css', 'd'), fence('js skip', 'e'), fence('sh', 'f'),
      fence('', 'g'),
    ]
    expect(blocksOf(page.join('')).map(({ kind, line, path, code }) => [kind, line, path, code])).toEqual([
      ['run', 4, '', 'a\n'],
      ['run', 9, '', 'b\n'],
      ['output', 14, '', 'c\n'],
      ['file', 19, 'src/a.css', 'd\n'],
    ])
  })

  it('code that fails, types that are wrong and other output are found', () => {
    const folder = makeProject()
    const block = (language: string, code: string): Block => ({ line: 1, kind: 'run', language, path: '', code })
    expect(() => node(folder, [compile(folder, block('js', "throw new Error('planted')"))], 'auto')).toThrow('planted')
    expect(() => compile(folder, block('ts', "import { openCache } from 'varve'\nawait openCache({ nmae: 'x' })"))).toThrow('nmae')
    const path = compile(folder, block('ts', "import { openCache } from 'varve'\nconst text: string = typeof openCache\nconsole.log(text)"))
    expect(node(folder, [path], 'auto')).toBe('function\n')
  })
})
