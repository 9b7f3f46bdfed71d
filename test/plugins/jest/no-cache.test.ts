/**
 * Jest's switches for its cache apply to the entries of Varve: `--no-cache` served results of a transformer that reads other files, and
 * they came back after `--clearCache`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

const JEST = createRequire(import.meta.url).resolve('jest/bin/jest')
const VARVE = fileURLToPath(new URL('../../../packages/plugins/dist/bundle/jest.js', import.meta.url))

/** A transformer that puts the text of a file into the code, which is not in its key. */
const TRANSFORMER = `const { readFileSync } = require('node:fs')
const { join } = require('node:path')
module.exports = {
  getCacheKey: (text) => require('node:crypto').createHash('sha256').update(text).digest('hex'),
  process: (text) => ({ code: text.replace('WORD', readFileSync(join(__dirname, 'word.txt'), 'utf8')) }),
}`

class Project {
  readonly folder: string = makeFolder()

  constructor(isAsync = false) {
    const transform = {
      '\\.m?js$': [VARVE, { transformer: join(this.folder, 'transformer.cjs'), dir: join(this.folder, 'cache') }],
    }
    const text = isAsync ? TRANSFORMER.replace('process: (text)', 'processAsync: async (text)') : TRANSFORMER
    const name = isAsync ? 'word.test.mjs' : 'word.test.js'
    mkdirSync(join(this.folder, 'temporary'))
    this.write('transformer.cjs', text)
    this.write('package.json', '{ "name": "project" }')
    this.write(
      'jest.config.json',
      JSON.stringify({ cacheDirectory: join(this.folder, 'jest-cache'), testMatch: [`**/${name}`], transform }),
    )
    this.write(name, `test('word', () => expect('WORD').toBe('none'))`)
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  /** Runs Jest on a machine with this temporary directory, and returns the word that the test has. */
  run(...more: string[]): string {
    const args = [JEST, '--ci', '--watchman=false', '--runInBand', '--config', join(this.folder, 'jest.config.json')]
    const { stderr } = spawnSync(process.execPath, ['--experimental-vm-modules', '--no-warnings', ...args, ...more], {
      cwd: this.folder,
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: join(this.folder, 'temporary') },
    })
    return /Received: *"(.*)"/.exec(stderr)?.[1] ?? stderr
  }
}

describe('switches of Jest for its cache', () => {
  it.each([
    ['process', false],
    ['processAsync', true],
  ])('a run with --no-cache takes a result from the cache, or stores one, in %s', (_, isAsync) => {
    const project = new Project(isAsync)
    project.write('word.txt', 'one')
    expect(project.run()).toBe('one')
    project.write('word.txt', 'two')
    expect(project.run()).toBe('one') // neither key has the file
    expect(project.run('--no-cache')).toBe('two')
    project.write('word.txt', 'three')
    expect(project.run('--no-cache')).toBe('three')
    rmSync(join(project.folder, 'cache'), { recursive: true })
    rmSync(join(project.folder, 'jest-cache'), { recursive: true })
    expect(project.run('--no-cache')).toBe('three')
    project.write('word.txt', 'four')
    rmSync(join(project.folder, 'jest-cache'), { recursive: true })
    expect(project.run()).toBe('four')
  })

  it('entries come back after --clearCache', () => {
    const project = new Project()
    project.write('word.txt', 'one')
    expect(project.run()).toBe('one')
    project.write('word.txt', 'two')
    project.run('--clearCache')
    expect(project.run()).toBe('two')
    project.write('word.txt', 'three')
    expect(project.run()).toBe('two')
  })

  it('a fresh machine with the cache of another one clears it', () => {
    const project = new Project()
    project.write('word.txt', 'one')
    expect(project.run()).toBe('one')
    for (const name of ['jest-cache', 'temporary']) rmSync(join(project.folder, name), { recursive: true })
    mkdirSync(join(project.folder, 'temporary'))
    project.write('word.txt', 'two')
    expect(project.run()).toBe('one')
  })
})
