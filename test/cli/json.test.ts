/**
 * The `--json` of every command matches the types of `varve/cli-json`. The compiler checks: outputs are written into a module as
 * values of these types, so a field too many, too few or of another type is an error, and so is a command without output.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { runVarve } from '../command.ts'
import { slow } from '../slow.ts'
import { fileOf, flip } from '../damage-reports/caches.ts'
import { makeFolder } from '../folders.ts'

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

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
  for (const mode of ['a', 'b']) await task.run({ id: 'a.css', inputs: { mode }, files: ['src/source.txt'], env: ['MODE'] }, () => mode)
  await cache.close()
  const other = await openCache({ name: 'two', dir: two })
  other.namespace('text', { codec: 'text' }).put('text', 'another text')
  await other.close()
  return { folder, one, two }
}

/** What each of these command lines printed, by the name of its shape. */
async function outputsOf(lines: readonly (readonly [name: string, ...args: string[]])[], folder: string): Promise<Map<string, string[]>> {
  const outputs = new Map<string, string[]>()
  for (const [name, ...args] of lines) {
    const words = name === 'error' ? [] : name.split(' ')
    const { out, err } = runVarve([...words, ...args, '--json'], { cwd: folder, env: { VARVE_DIR: '', CACHE_DIR: '' } })
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
    module: 'nodenext', target: 'es2023', strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true,
    types: ['node'], typeRoots: [at('node_modules/@types')], paths: { 'varve/cli-json': [at('packages/varve/dist/cli-json.d.ts')] },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['outputs.ts'] }))
  const { stdout } = spawnSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '--project', folder], { encoding: 'utf8' })
  return stdout
}

describe('--json', () => {
  it('--json of every command matches its type, for one cache and for several', slow, async () => {
    const { folder, one, two } = await makeProject()
    const caches = join(one, '..')
    const [file, target, damaged] = [join(folder, 'export.json'), join(folder, 'target'), join(folder, 'damaged')]
    const dir = ['--dir', one]
    const outputs = await outputsOf([
      ['stats', ...dir], ['stats', '--dir', caches], ['top', ...dir], ['ls', ...dir], ['ls', ...dir, '--limit', '0'], ['ls --task', ...dir],
      ['get', 'text', ...dir], ['get', 'text', ...dir, '--namespace', 'text'], ['get', 'nothing', ...dir], ['get', String.raw`\xff\xfe`, ...dir],
      ['why', 'a.css', ...dir], ['why', 'nothing', ...dir], ['diff', one, two], ['diff', one, one], ['export', ...dir, '-o', file],
      ['import', file, '--dir', damaged], ['verify', '--dir', caches], ['doctor', ...dir], ['doctor', '--dir', join(folder, 'none')],
      ['files ls', ...dir], ['files ls --stored', ...dir], ['files verify', ...dir], ['files restore', 'build', target, ...dir],
      ['files restore', 'nothing', target, ...dir], ['repair', ...dir], ['compact', '--dir', caches], ['compact', ...dir], ['gc', ...dir],
      ['files gc', ...dir], ['clear', ...dir, '--namespace', 'text'], ['error', 'stats', '--dir', join(folder, 'none')],
    ], folder)
    await outputsOf([['compact', '--dir', damaged]], folder)
    flip(fileOf(damaged, '.table'), 100)
    const more = await outputsOf([['verify', '--dir', damaged], ['doctor', '--dir', damaged], ['repair', '--dir', damaged]], folder)
    for (const [name, values] of more) {
      outputs.get(name)?.push(...values)
    }
    expect(problemsOf(outputs)).toBe('')
    expect(outputs.get('stats')?.map((output) => JSON.parse(output).caches.length)).toEqual([1, 2])
    // The comparison finds a field that is renamed, too many, or of another type, and a command without output.
    const [verify = ''] = outputs.get('verify') ?? []
    const wrong = [verify.replace('"sound"', '"sounds"'), verify.replace('"files":', '"more": 1, "files":'), verify.replace('true', '"true"')]
    const problems = problemsOf(new Map([['verify', wrong]]))
    for (const found of ["'\"sounds\"' does not exist", "'\"more\"' does not exist", "'string' is not assignable to type 'boolean'"]) {
      expect(problems).toContain(found)
    }
    expect(problemsOf(new Map([['verify', [verify]]]))).toMatch(/missing the following properties .*: .*stats|is missing/)
  })

  it('every command has a type for its --json', () => {
    const names = /^ {2}([a-z]+)(?= )/gm
    const commandsOf = (...args: string[]): string[] => {
      const [, list = ''] = runVarve([...args, '--help']).out.split('Commands:\n')
      const [only = ''] = list.split('\n\n')
      return [...only.matchAll(names)].map(([, name = '']) => name).filter((name) => name !== 'help')
    }
    const all = commandsOf().flatMap((name) => (name === 'files' ? commandsOf('files').map((sub) => `files ${sub}`) : [name]))
    expect(all.length).toBeGreaterThan(15)
    const types = readFileSync(at('packages/varve/src/cli-json.ts'), 'utf8')
    for (const name of all) expect(types).toMatch(new RegExp(`readonly '?${name}'?: `))
  })

  it('the documentation of --json repeats its types', () => {
    const types = readFileSync(at('packages/varve/src/cli-json.ts'), 'utf8')
    const page = readFileSync(at('docs/command.md'), 'utf8')
    expect(page).toContain(types.slice(types.indexOf('/** `format` of every value.')).trimEnd())
  })
})
