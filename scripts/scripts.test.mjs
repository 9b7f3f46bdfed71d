// @ts-check
// The decisions of the scripts: which dependencies are installed, which Node fits, which tests passed, which output is current.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkNeeds, targets } from './build.mjs'
import { programOf, PROGRAMS } from './command.mjs'
import { firstDifference } from './common/install.mjs'
import { readCargo, sumOutcomes } from './test/outcome.mjs'
import { at } from './common/root.mjs'
import { fingerprint } from './common/stamps.mjs'
import { readReport } from './check/advisories.mjs'
import { isAllowed, strangeCrates, strangePackages, unexplained } from './check/licences.mjs'
import { nodeFits } from './common/tools.mjs'

describe('installed packages', () => {
  const wanted = {
    '': {},
    'packages/a': { version: '1.0.0' },
    'node_modules/a': { link: true },
    'node_modules/b': { version: '1.0.0', integrity: 'x' },
    'node_modules/c': { version: '1.0.0', integrity: 'y', optional: true },
  }
  const { 'node_modules/b': b, 'node_modules/c': c, ...links } = wanted

  it('packages of other platforms may be missing', () => {
    expect(firstDifference(wanted, { ...links, 'node_modules/b': b })).toBeUndefined()
  })

  it('a missing, older or surplus package is a difference', () => {
    expect(firstDifference(wanted, { ...links, 'node_modules/c': c })).toBe('node_modules/b')
    const older = { version: '0.9.0', integrity: 'x' }
    expect(firstDifference(wanted, { ...links, 'node_modules/b': older })).toBe('node_modules/b')
    expect(firstDifference(wanted, { ...wanted, 'node_modules/d': {} })).toBe('node_modules/d')
  })
})

describe('commands with several programs', () => {
  it('each is a script of package.json, and its programs exist', () => {
    const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
    const programs = Object.entries(PROGRAMS)
    for (const [name] of programs) expect(scripts[name]).toBe(`node scripts/command.mjs ${name}`)
    expect(programs.flatMap(([, paths]) => Object.values(paths)).filter((path) => !existsSync(at(path)))).toEqual([])
  })

  it('the first argument names a program, with or without hyphens, and everything else is left for it', () => {
    expect(programOf('build', ['--all', '--inspect'])).toEqual({ program: 'scripts/cross.mjs', rest: ['--inspect'] })
    expect(programOf('build', ['packages'])).toEqual({ program: 'scripts/build.mjs', rest: ['packages'] })
    expect(programOf('test:safety', ['fuzz', '--seed', '3'])).toMatchObject({ rest: ['--seed', '3'] })
    expect(() => programOf('clean', [])).toThrow("there is no command 'clean'")
  })
})

describe('the version of Node', () => {
  it.each(['20.19.0', '20.20.2', '22.12.0', '23.0.0', '24.1.0'])(
    'Node.js %s satisfies the engines of the packages',
    (version) => {
      expect(nodeFits(version)).toBe(true)
    },
  )

  it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])(
    'Node.js %s does not satisfy the engines of the packages',
    (version) => {
      expect(nodeFits(version)).toBe(false)
    },
  )
})

describe('the sum of all test runners', () => {
  it('the closing lines of cargo are added up', () => {
    /** @param {string} verdict @param {string} counts */
    const line = (verdict, counts) => `test result: ${verdict}. ${counts}; 0 ignored\n`
    const output = `running 3 tests\n${line('ok', '3 passed; 0 failed')}${line('FAILED', '1 passed; 2 failed')}`
    expect(readCargo(output)).toEqual({ passed: 4, failed: 2 })
  })

  it('the sum is never better than the exit codes', () => {
    const passed = { outcome: { passed: 3, failed: 0 }, exitCode: 0 }
    const failed = { outcome: { passed: 1, failed: 2 }, exitCode: 1 }
    const broken = { outcome: { passed: 0, failed: 0 }, exitCode: 101 }
    expect(sumOutcomes([passed, failed, broken])).toEqual({ passed: 4, failed: 3 })
  })
})

describe('stamps of build output', () => {
  const folder = mkdtempSync(join(tmpdir(), 'varve-scripts-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('a moved or copied clone is not built again, but changed sources are', () => {
    const built = { inputs: ['a.txt', 'src', 'none'] }
    mkdirSync(join(folder, 'one/src/below'), { recursive: true })
    writeFileSync(join(folder, 'one/a.txt'), 'a')
    writeFileSync(join(folder, 'one/src/below/b.txt'), 'b')
    cpSync(join(folder, 'one'), join(folder, 'two'), { recursive: true })
    const before = fingerprint(built, join(folder, 'one'))
    expect(fingerprint(built, join(folder, 'two'))).toBe(before)
    writeFileSync(join(folder, 'two/src/below/c.txt'), '')
    expect(fingerprint(built, join(folder, 'two'))).not.toBe(before)
  })
})

describe('a single target', () => {
  const folder = mkdtempSync(join(tmpdir(), 'varve-scripts-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('packages without a generated engine: the error names the command that generates it', () => {
    const packages = { name: 'packages', needs: targets.find(({ name }) => name === 'packages')?.needs ?? [] }
    const message =
      "cannot build packages: 'packages/varve/generated/varve_wasm.js' is missing. Run 'npm run build -- wasm' first"
    expect(() => checkNeeds(packages, folder)).toThrow(message)
    for (const path of packages.needs) {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), '')
    }
    expect(() => checkNeeds(packages, folder)).not.toThrow()
  })
})

describe('licences and sources of dependencies', () => {
  const allowed = ['MIT', 'Zlib', 'Unicode-3.0']

  it.each([
    'MIT',
    'MIT OR GPL-3.0',
    'GPL-3.0/MIT',
    '(GPL-3.0 OR MIT) AND Unicode-3.0',
    'MIT AND Zlib',
    'GPL-3.0 AND X OR Zlib',
    'MIT WITH an-exception',
  ])('the licence %s is allowed', (expression) => {
    expect(isAllowed(expression, allowed)).toBe(true)
  })

  it.each([
    'GPL-3.0',
    'MIT AND GPL-3.0',
    '(MIT OR X) AND GPL-3.0',
    'GPL-3.0 WITH MIT',
    '',
    'none',
    'MIT)',
    '(MIT',
    'MIT Zlib',
  ])('the licence %s is not allowed', (expression) => {
    expect(isAllowed(expression, allowed)).toBe(false)
  })

  it('dependencies come from the registries, with hashes', () => {
    const crate = (/** @type {string} */ name, /** @type {string} */ source, sum = '0'.repeat(64)) =>
      `[[package]]\nname = "${name}"\nversion = "1.0.0"\nsource = "${source}"\nchecksum = "${sum}"\n\n`
    const registry = 'registry+https://github.com/rust-lang/crates.io-index'
    const lock = `[[package]]\nname = "own"\nversion = "1.0.0"\n\n${crate('good', registry)}`
    expect(strangeCrates(lock)).toEqual([])
    expect(strangeCrates(`${lock}${crate('git', 'git+https://example.org/x')}${crate('bare', registry, '')}`)).toEqual([
      'git',
      'bare',
    ])
    const integrity = 'sha512-x'
    expect(
      strangePackages({
        '': {},
        'packages/a': {},
        'node_modules/a': { link: true, resolved: 'packages/a' },
        'node_modules/good': { integrity },
        'node_modules/git': { integrity, resolved: 'git+ssh://example.org/x' },
        'node_modules/bare': {},
        'node_modules/weak': { integrity: 'sha1-x' },
        'node_modules/good/node_modules/part': { inBundle: true },
      }),
    ).toEqual(['node_modules/git', 'node_modules/bare', 'node_modules/weak'])
  })

  it('every lock file contains the dependencies of the engine, so that no build rewrites it', () => {
    const dependencies = /** @param {string} path */ (path) => {
      const [, table = ''] = /^\[dependencies\]\n([^[]*)/m.exec(readFileSync(at(path), 'utf8')) ?? []
      return [...table.matchAll(/^([\w-]+) = (?!.*optional)/gm)].map(([, name]) => name)
    }
    const engine = dependencies('crates/core/Cargo.toml')
    expect(engine).toContain('blake3')
    for (const folder of ['.', 'bench/rivals/rust', 'test/safety/fuzz', 'test/safety/concurrency/threads']) {
      const lock = readFileSync(at(`${folder}/Cargo.lock`), 'utf8')
      expect(
        engine.filter((name) => !lock.includes(`\nname = "${name}"\n`)),
        folder,
      ).toEqual([])
    }
  })

  it('every override has a reason and every reason an override', () => {
    expect(unexplained({ overrides: { a: '1' }, '//overrides': { a: 'why' } })).toEqual([])
    expect(unexplained({ overrides: { a: '1' }, '//overrides': { b: 'why' } })).toEqual([
      "package.json: the override of 'a' has no reason in '//overrides'",
      "package.json: '//overrides' explains 'b', which is not overridden",
    ])
  })

  it('an audit that the registry rejected is not a report', () => {
    expect(readReport('npm warn audit 405 Method Not Allowed\n{ "message": "refused" }')).toBeUndefined()
    expect(readReport('')).toBeUndefined()
    const found = { a: { name: 'a', severity: 'high' } }
    expect(readReport(`npm warn x\n${JSON.stringify({ vulnerabilities: found })}`)).toEqual(found)
  })
})
