// @ts-check
// tidy finds a planted violation of each rule at its line, and nothing else.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findUntidy } from '../tidy.mjs'
import { rustFunctions, typescriptFunctions } from './functions.mjs'
import { maskRust, maskTypeScript } from './mask.mjs'
import { FOREIGN_WORDS } from './rules.mjs'

const PLUGINS = { 'packages/plugins/package.json': '{ "peerDependencies": { "webpack": "^5" } }' }

/** @param {Record<string, string>} files @returns {string[]} "path:line: message" */
function tidy(files) {
  const folder = mkdtempSync(join(tmpdir(), 'varve-tidy-'))
  try {
    for (const [path, text] of Object.entries({ ...PLUGINS, ...files })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return findUntidy(folder).map(({ path, line, message }) => `${path}:${line}: ${message}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @param {number} count @param {string} line */
const lines = (count, line) => `${line}\n`.repeat(count)
/** @param {string} name @param {number} body */
const rustFunction = (name, body) => `//! A.\nfn ${name}() {\n${lines(body, '    step();')}}\n`
/** @param {string} head @param {number} body */
const typescriptFunction = (head, body) => `// A.\n${head} {\n${lines(body, '  step()')}}\n`
/** @param {string} name @param {string} dependencies */
const manifest = (name, dependencies) => `[package]\nname = "${name}"\n\n[dependencies]\n${dependencies}\n`

/** @type {readonly (readonly [string, Record<string, string>, string])[]} */
const PLANTED = [
  ['a long Rust function', { 'a.rs': rustFunction('long', 84) }, 'a.rs:2: long: 86 lines, the limit is 85'],
  ['a long Rust test', { 'tests/a.rs': rustFunction('long', 99) }, 'tests/a.rs:2: long: 101 lines, the limit is 100'],
  ['a long function', { 'a.ts': typescriptFunction('function long(a: A): { b: 1 }', 74) }, 'a.ts:2: long: 76 lines'],
  ['a long arrow', { 'a.ts': typescriptFunction('const long = (a: A): void =>', 74) }, 'a.ts:2: arrow function: 76'],
  ['a Rust file without a header', { 'a.rs': '// A.\n' }, 'a.rs:1: begins without a //! comment'],
  ['a script without a header', { 'a.mjs': '// @ts-check\nstep()\n' }, 'a.mjs:1: begins without a comment'],
  ['any', { 'a.ts': '// A.\nlet a: Map<string, any> = b\n' }, 'a.ts:2: type any'],
  ['a double cast', { 'a.ts': '// A.\nlet a = b as unknown as C\n' }, 'a.ts:2: as unknown as'],
  ['an enum', { 'a.ts': '// A.\nexport const enum A { B }\n' }, 'a.ts:2: enum'],
  ['a namespace', { 'a.ts': '// A.\ndeclare namespace A {\n}\n' }, 'a.ts:2: namespace'],
  [
    'unsafe in a file that is not named for it',
    { 'a.rs': '//! A.\nunsafe fn a() {}\n' },
    'a.rs:2: unsafe outside of the files named',
  ],
  [
    'unsafe without a SAFETY comment',
    { 'crates/disk/src/map.rs': '//! A.\nunsafe fn a() {}\n' },
    'crates/disk/src/map.rs:2: unsafe without a SAFETY comment',
  ],
  ...FOREIGN_WORDS.map((word) => /** @type {const} */ ([word, { 'a.md': `A.\nsee ${word}b\n` }, `a.md:2: ${word}`])),
  [
    'a dependency between crates in the wrong direction',
    { 'crates/core/Cargo.toml': manifest('varve-core', 'varve-disk.workspace = true') },
    'crates/core/Cargo.toml:5: varve-core may not use varve-disk',
  ],
  [
    'too many dependencies of core',
    { 'Cargo.toml': manifest('varve-core', [...'abcdef'].map((name) => `${name} = "1" # why`).join('\n')) },
    'Cargo.toml:10: 6 dependencies, the limit is 5',
  ],
  [
    'a dependency without a reason',
    { 'Cargo.toml': manifest('bench', 'a = { version = "1" } # why\nb = "1"\n\n[[test]]\nname = "c"') },
    'Cargo.toml:6: b: a trailing comment with the reason is missing',
  ],
  [
    'a room of another crate that uses one above it',
    { 'crates/node/src/store.rs': '//! A.\nuse crate::open::Open;\n' },
    'crates/node/src/store.rs:2: store may not use open: it is not on a lower floor',
  ],
  [
    'a room without a floor',
    { 'crates/core/src/attic.rs': '//! A.\n' },
    'crates/core/src/attic.rs:1: room attic is on no floor',
  ],
  [
    'a room that uses one on a higher floor',
    { 'crates/core/src/platform/vfs.rs': '//! A.\nuse crate::{platform::pool::Pool, store::Store};\n' },
    'crates/core/src/platform/vfs.rs:2: platform may not use store',
  ],
  [
    'a room that uses one on a higher floor through the root',
    {
      'crates/core/src/platform.rs': '//! A.\nuse crate::Store;\n',
      'crates/core/src/lib.rs': '//! A.\npub use store::{Store};\n',
    },
    'crates/core/src/platform.rs:2: platform may not use store',
  ],
  [
    'wording that reads like a translation',
    { 'a.md': 'Nobody knows.\n' },
    'a.md:1: nobody: 500.00 per 1,000 words of pages',
  ],
  [
    'an error that reads like a translation',
    { 'a.ts': '// A.\nexport const error = `the value ${1} is no valid size of it`\n' },
    'a.ts:2: is no: 166.67 per 1,000 words of strings',
  ],
  [
    'a library with a dependency',
    { 'packages/varve/src/a.ts': "// A.\nimport a from 'b'\n" },
    'packages/varve/src/a.ts:2: b: the library depends on nothing',
  ],
  [
    'a library that uses the command',
    { 'packages/varve/src/a.ts': "// A.\nimport a from './cli/b.ts'\n" },
    'packages/varve/src/a.ts:2: ./cli/b.ts: the library may not use the command',
  ],
  [
    'an engine chosen elsewhere',
    { 'packages/varve/src/a.ts': "// A.\nawait import('./engine/native.ts')\n" },
    'packages/varve/src/a.ts:2: ./engine/native.ts: only load.ts imports an engine',
  ],
  [
    'an engine that imports the other one',
    { 'packages/varve/src/engine/wasm.ts': "// A.\nimport { a } from './native.ts'\n" },
    'packages/varve/src/engine/wasm.ts:2: ./native.ts: only load.ts imports an engine',
  ],
  [
    'generated code used elsewhere',
    { 'packages/varve/src/a.ts': "// A.\nimport type { A } from '../generated/varve_wasm.js'\n" },
    'packages/varve/src/a.ts:2: ../generated/varve_wasm.js: only load.ts',
  ],
  [
    'a plugin with a dependency',
    { 'packages/plugins/src/a.ts': "// A.\nexport { a } from 'b/c'\n" },
    'packages/plugins/src/a.ts:2: b/c: plugins import varve',
  ],
  [
    'a plugin that runs its bundler',
    { 'packages/plugins/src/a.ts': "// A.\nimport {\n  a,\n} from 'webpack'\n" },
    "packages/plugins/src/a.ts:4: webpack: import the bundler's types only",
  ],
  [
    'a remote with another dependency',
    { 'packages/remote/src/a.ts': "// A.\nexport { a } from 'b'\nexport { c } from 'varve'\n" },
    'packages/remote/src/a.ts:2: b: the remote imports varve, aws4, @redis/client only',
  ],
  [
    'an import that leaves the package',
    { 'packages/plugins/src/a.ts': "// A.\nimport a from '../../varve/src/a.ts'\n" },
    'packages/plugins/src/a.ts:2: ../../varve/src/a.ts: leaves its package',
  ],
]

describe('tidy', () => {
  it.each(PLANTED)('tidy finds %s', (_name, files, finding) => {
    const found = tidy(files)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(finding)
  })

  it('tidy reports no finding for allowed code', () => {
    const SAFETY = '// SAFETY: the caller holds the map.'
    expect(
      tidy({
        'a.ts': typescriptFunction("/** any enum { */\nconst a = 'x as unknown as y'\nfunction fits(): void", 47),
        'b.test.ts': `// A.\ndescribe('a', () => {\n${lines(80, '  step()')}})\n`,
        'c.rs': rustFunction('fits', 68),
        'e.ts':
          "// A.\nexport const error = 'there is no cache here; it is no longer there'\nexport const name = 'says'\n",
        'd.md': 'a path inside: home/x/y; code: `nobody()`\n',
        'crates/disk/src/map.rs': `//! A.\n${SAFETY}\nlet a =\n    unsafe { b() };\n`,
        'crates/core/src/platform.rs': '//! A.\n#[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}\n',
        'packages/varve/src/engine/load.ts': "// A.\nimport a from './native.ts'\nimport b from 'node:fs'\n",
        'packages/varve/src/cli/main.ts': "#!/usr/bin/node\n// A.\nimport a from 'chalk'\nimport b from '../c.ts'\n",
        'packages/plugins/src/webpack.ts': "// A.\nimport type { A } from 'webpack'\nimport { b } from 'varve'\n",
      }),
    ).toEqual([])
  })
})

describe('the length of functions', () => {
  it('the length of a function ignores strings, templates, comments and regular expressions', () => {
    const code = "function a() {\n  // }\n  b('}', `}${c({})}}`, /[}/]}/)\n  /* } */\n}\nconst d = 1\n"
    expect(typescriptFunctions(maskTypeScript(code))).toMatchObject([{ name: 'a', start: 0, end: 4 }])
  })

  it('functions, methods, object types and calls are distinguished', () => {
    const body = '    if (c) {\n    }\n    f(g ? h() : { i: 1 })\n'
    const code = `class A {\n  b<T>(c: { d: T }): Promise<{ e: T }> {\n${body}  }\n}\n`
    expect(typescriptFunctions(maskTypeScript(code))).toMatchObject([{ name: 'b', start: 1, end: 5 }])
  })

  it('each case of a contract is measured separately', () => {
    const code = "function contract() {\n  it(\n    'x',\n    () => {\n    },\n  )\n}\n"
    expect(typescriptFunctions(maskTypeScript(code)).map(({ isTest }) => isTest)).toEqual([false, true])
  })

  it('Rust is read with lifetimes, raw strings and nested comments', () => {
    const body = String.raw`    /* { /* { */ */ c('{', b'\'', r#"{"#, "\"{")`
    const code = `fn a<'a>(b: [u8; 2]) -> &'a str {\n${body}\n}\nfn d();\n`
    expect(rustFunctions(maskRust(code))).toEqual([{ name: 'a', start: 0, end: 2 }])
  })
})
