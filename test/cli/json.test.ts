/**
 * With `--json`, every command writes a value of its type in `varve/cli-json`. The compiler compares them: a module contains the outputs as
 * values of these types, so an additional or missing field, a wrong type, or a command without output is an error. The command reference
 * has the same types, and the options of `--help`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { slow } from '../slow.ts'
import { fileOf, flip } from '../damage-reports/caches.ts'
import { makeFolder } from '../folders.ts'

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const PAGE = readFileSync(at('docs/command.md'), 'utf8')

const helpOf = (command: string): string => runVarve([...command.split(' '), '--help']).out

/** Names of all commands. */
const COMMANDS = commandsIn(runVarve(['--help']).out).flatMap((name) => {
  return name === 'files' || name === 'remote' ? commandsIn(helpOf(name)).map((sub) => `${name} ${sub}`) : [name]
})

/** Options of every command, as rows of the page. */
const COMMON = ['--dir', '--json', '--shared'].map(
  (flag) => PAGE.split('\n').find((line) => line.startsWith(`| \`${flag}`)) ?? flag,
)

function commandsIn(help: string): string[] {
  const [, list = ''] = help.split('Commands:\n')
  const [only = ''] = list.split('\n\n')
  return [...only.matchAll(/^ {2}([a-z]+)(?= )/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
}

/** A list of `--help`, as rows of the page. */
function rowsOf(help: string, list: string): string[] {
  const [, lines = ''] = new RegExp(`^${list}:\\n((?: .*\\n)+)`, 'm').exec(help) ?? []
  const items = lines
    .trimEnd()
    .split(/\n(?= {2}\S)/)
    .filter((item) => item !== '')
  return items.map((item) =>
    item
      .trim()
      .replaceAll(/\n */g, ' ')
      .replace(/^(.*?) {2,}(.*)$/, '| `$1` | $2 |'),
  )
}

/** The section of a command in the page. */
function sectionOf(command: string): string {
  const [, section = ''] = PAGE.split(`\n## ${command}\n`)
  return section.split('\n## ', 1).join('')
}

/** A project with two caches: one with all there may be in one, and one with almost nothing. */
async function makeProject(): Promise<{ folder: string; one: string; two: string }> {
  const folder = makeFolder()
  writeFileSync(join(folder, 'package.json'), '{}')
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'src/source.txt'), 'source')
  const caches = join(folder, 'node_modules/.cache/varve')
  const [one, two] = [join(caches, 'one'), join(caches, 'two')]
  const cache = await openCache({ name: 'one', dir: one })
  const bytes = cache.namespace('bytes', { version: '1' })
  for (const key of ['text', 'x'.repeat(100), new Uint8Array([0xff, 0xfe])]) bytes.put(key, new Uint8Array([0xff, 1]))
  cache.namespace('text', { codec: 'text' }).put('text', 'text')
  const source = await cache.files.store(join(folder, 'src'))
  cache.namespace('outputs', { codec: 'json' }).put('build', source)
  const task = cache.task('styles', { root: folder })
  for (const mode of ['a', 'b'])
    await task.run({ id: 'a.css', inputs: { mode }, files: ['src/source.txt'], env: ['MODE'] }, () => mode)
  await cache.close()
  const other = await openCache({ name: 'two', dir: two })
  other.namespace('text', { codec: 'text' }).put('text', 'another text')
  await other.close()
  return { folder, one, two }
}

/** What each of these command lines printed, by the name of its shape. */
async function outputsOf(
  lines: readonly (readonly [name: string, ...args: string[]])[],
  folder: string,
  more: NodeJS.ProcessEnv = {},
): Promise<Map<string, string[]>> {
  const outputs = new Map<string, string[]>()
  for (const [name, ...args] of lines) {
    const words = name === 'error' ? [] : name.split(' ')
    const isAfter = args.includes('--') // what follows is the line of another program
    const { out, err } = runVarve(isAfter ? [...words, '--json', ...args] : [...words, ...args, '--json'], {
      cwd: folder,
      env: { VARVE_DIR: '', CACHE_DIR: '', ...more },
    })
    expect([args, err.replaceAll(/^warning: .*\n/gm, '')]).toEqual([args, ''])
    expect(JSON.parse(out).format, out).toBe(1)
    outputs.set(name, [...(outputs.get(name) ?? []), out])
  }
  return outputs
}

/** What the compiler finds wrong with outputs as values of `CliJson`. */
function problemsOf(outputs: ReadonlyMap<string, readonly string[]>): string {
  const folder = makeFolder()
  mkdirSync(join(folder, 'node_modules'))
  const members = [...outputs].map(([name, values]) => `  ${JSON.stringify(name)}: [${values.join(',')}],`)
  const text = `import type { CliJson } from 'varve/cli-json'
export const outputs: { readonly [Name in keyof CliJson]: readonly CliJson[Name][] } = {\n${members.join('\n')}\n}\n`
  writeFileSync(join(folder, 'outputs.ts'), text)
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [at('node_modules/@types')],
    paths: { 'varve/cli-json': [at('packages/varve/dist/cli-json.d.ts')] },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['outputs.ts'] }))
  const { stdout } = spawnSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '--project', folder], {
    encoding: 'utf8',
  })
  return stdout
}

describe('--json', () => {
  it('the --json output of every command has its documented type, for one cache and for several', slow, async () => {
    const { folder, one } = await makeProject()
    const caches = join(one, '..')
    const [file, target, damaged] = [join(folder, 'export.json'), join(folder, 'target'), join(folder, 'damaged')]
    const dir = ['--dir', one]
    const outputs = await outputsOf(
      [
        ['stats'],
        ['stats --dir', one],
        ['stats --dir', caches],
        ['history', '--dir', caches],
        ['export --layer', join(folder, 'sealed'), '--dir', caches],
        ['ls', ...dir],
        ['ls --sort', 'size', ...dir],
        ['ls', ...dir, '--limit', '0'],
        ['ls --task', ...dir],
        ['get', 'text', ...dir],
        ['get', 'text', ...dir, '--namespace', 'text'],
        ['get', 'nothing', ...dir],
        ['get', String.raw`\xff\xfe`, ...dir],
        ['why', 'a.css', ...dir],
        ['why', 'nothing', ...dir],
        ['export', ...dir, '-o', file],
        ['import', file, '--dir', damaged],
        ['repair --check', '--dir', caches],
        ['doctor', ...dir],
        ['doctor', '--dir', join(folder, 'none')],
        ['view', '--dir', caches, '--verify'],
        ['files ls', ...dir],
        ['files ls --stored', ...dir],
        ['files verify', ...dir],
        ['files restore', 'build', target, ...dir],
        ['files restore', 'nothing', target, ...dir],
        ['repair', ...dir],
        ['gc', '--dir', caches, '--full'],
        ['gc', ...dir],
        ['files gc', ...dir],
        ['clear', ...dir, '--yes', '--namespace', 'text'],
        ['estimate', '--', process.execPath, '--version'],
        ['error', 'stats', '--dir', join(folder, 'none')],
      ],
      folder,
    )
    const { publicKey: VARVE_TRUSTED_KEYS, signingKey: VARVE_SIGNING_KEY } = JSON.parse(
      runVarve(['remote', 'keygen', '--json'], { cwd: folder }).out,
    )
    const env = { VARVE_REMOTE: pathToFileURL(join(folder, 'remote')).href, VARVE_TRUSTED_KEYS, VARVE_SIGNING_KEY }
    const names = ['push', 'doctor', 'status', 'pull', 'verify', 'compact', 'gc', 'keygen']
    const remote = names.map((name) => [`remote ${name}`, '--dir', caches] as const)
    for (const [name, values] of await outputsOf(remote, folder, env)) outputs.set(name, values)
    const { sha256 } = JSON.parse(outputs.get('remote status')?.[0] ?? '').scopes[0].layers[0]
    for (const [name, values] of await outputsOf([['remote revoke', sha256, '--dir', caches]], folder, env))
      outputs.set(name, values)
    await outputsOf([['gc', '--full', '--dir', damaged]], folder)
    flip(fileOf(damaged, '.table'), 100)
    const more = await outputsOf(
      [
        ['repair --check', '--dir', damaged],
        ['doctor', '--dir', damaged],
        ['repair', '--dir', damaged],
      ],
      folder,
    )
    for (const [name, values] of more) {
      outputs.get(name)?.push(...values)
    }
    expect(problemsOf(outputs)).toBe('')
    expect(outputs.get('stats --dir')?.map((output) => JSON.parse(output).caches.length)).toEqual([1, 2])
    // The comparison finds a field that is renamed, too many, or of another type, and a command without output.
    const [verify = ''] = outputs.get('repair --check') ?? []
    const wrong = [
      verify.replace('"sound"', '"sounds"'),
      verify.replace('"files":', '"more": 1, "files":'),
      verify.replace('true', '"true"'),
    ]
    const problems = problemsOf(new Map([['repair --check', wrong]]))
    for (const found of [
      '\'"sounds"\' does not exist',
      '\'"more"\' does not exist',
      "'string' is not assignable to type 'boolean'",
    ]) {
      expect(problems).toContain(found)
    }
    expect(problemsOf(new Map([['repair --check', [verify]]]))).toMatch(
      /missing the following properties .*: .*stats|is missing/,
    )
  })

  it('each command with --json names its type in its section of docs/command.md', () => {
    const types = readFileSync(at('packages/varve/src/cli-json.ts'), 'utf8')
    for (const command of COMMANDS) {
      expect(types).toMatch(new RegExp(`readonly '?${command}'?: `))
      expect(sectionOf(command)).toContain(`CliJson['${command}']`)
    }
  })
})

describe('docs/command.md', () => {
  it('docs/command.md has a section for every command and for nothing else', () => {
    const sections = [...PAGE.matchAll(/^## ([a-z ]+)$/gm)].map(([, name = '']) => name)
    expect(sections.sort()).toEqual([...COMMANDS].sort())
  })

  it.each(COMMANDS)('describes %s with the usage, the arguments and the options of its --help', (command) => {
    const help = helpOf(command)
    const section = sectionOf(command)
    const [usage = ''] = help.split('\n')
    expect(section).toContain(`npx ${usage.replace('Usage: ', '')}\n`)
    const rows = [...rowsOf(help, 'Arguments'), ...rowsOf(help, 'Options')].filter(
      (row) => !row.startsWith('| `-h, --help`'),
    )
    expect(rows).toEqual(expect.arrayContaining(COMMON))
    expect(section.match(/^\| `.*$/gm) ?? []).toEqual(rows.filter((row) => !COMMON.includes(row)))
  })

  it('docs/command.md lists the exit codes of --help', () => {
    const [, codes = ''] = helpOf('stats').split('Exit codes:\n')
    const rows = codes
      .trim()
      .split('\n')
      .map((line) => line.trim().replace(/^(\d) +/, '| $1 | '))
    expect(rows.length).toBe(5)
    expect(PAGE.replaceAll('`', '')).toContain(rows.map((row) => `${row} |\n`).join(''))
  })
})
