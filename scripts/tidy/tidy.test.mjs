// @ts-check
// tidy finds a planted violation of each rule at its line, and nothing else.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findUntidy } from '../tidy.mjs'

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

/** @param {string} name @param {string} dependencies */
const manifest = (name, dependencies) => `[package]\nname = "${name}"\n\n[dependencies]\n${dependencies}\n`

/** @type {readonly (readonly [string, Record<string, string>, string])[]} */
const PLANTED = [
  ['a Rust file without a header', { 'a.rs': '// A.\n' }, 'a.rs:1: begins without a //! comment'],
  ['a script without a header', { 'a.mjs': '// @ts-check\nstep()\n' }, 'a.mjs:1: begins without a comment'],
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
    'a room of the library that uses one above it',
    { 'packages/varve/src/values/a.ts': "// A.\nimport type { A } from '../session/b.ts'\n" },
    'packages/varve/src/values/a.ts:2: values may not use session: it is not on a lower floor',
  ],
  [
    'a library with a dependency',
    { 'packages/varve/src/index.ts': "// A.\nimport a from 'b'\n" },
    'packages/varve/src/index.ts:2: b: the library depends on nothing',
  ],
  [
    'a library that uses the command',
    { 'packages/varve/src/index.ts': "// A.\nimport a from './cli/b.ts'\n" },
    'packages/varve/src/index.ts:2: index may not use cli',
  ],
  [
    'an engine chosen elsewhere',
    { 'packages/varve/src/index.ts': "// A.\nawait import('./engine/native.ts')\n" },
    'packages/varve/src/index.ts:2: ./engine/native.ts: only load.ts imports an engine',
  ],
  [
    'an engine that imports the other one',
    { 'packages/varve/src/engine/wasm.ts': "// A.\nimport { a } from './native.ts'\n" },
    'packages/varve/src/engine/wasm.ts:2: ./native.ts: only load.ts imports an engine',
  ],
  [
    'generated code used elsewhere',
    { 'packages/varve/src/index.ts': "// A.\nimport type { A } from '../generated/varve_wasm.js'\n" },
    'packages/varve/src/index.ts:2: ../generated/varve_wasm.js: only load.ts',
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
    expect(
      tidy({
        'crates/disk/src/map.rs': '//! A.\nuse crate::guard::Guard;\n',
        'crates/core/src/platform.rs': '//! A.\n#[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}\n',
        'packages/varve/src/engine/load.ts': "// A.\nimport a from './native.ts'\nimport b from 'node:fs'\n",
        'packages/varve/src/cli/main.ts': "#!/usr/bin/node\n// A.\nimport a from 'chalk'\nimport b from '../c.ts'\n",
        'packages/plugins/src/webpack.ts': "// A.\nimport type { A } from 'webpack'\nimport { b } from 'varve'\n",
      }),
    ).toEqual([])
  })
})
