// @ts-check
// Which declarations a published package keeps.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { removeUnreachable } from './declarations.mjs'

const folder = mkdtempSync(join(tmpdir(), 'varve-declarations-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** @param {Readonly<Record<string, string>>} files */
function write(files) {
  for (const place of ['dist/parts', 'generated']) mkdirSync(join(folder, place), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

const exports = { '.': { types: './dist/index.d.ts' }, './package.json': './package.json' }

it('a package keeps the files of declarations that its entry points import in any way, and no others', async () => {
  write({
    'package.json': JSON.stringify({ exports }),
    'dist/index.d.ts': `import './parts/effect.ts'\nexport * from './parts/star.ts'\nexport declare const x: import("./parts/inline.js").X\n`,
    'dist/parts/effect.d.ts': `import type { Y } from '../second.ts'\ndeclare global { interface Window { y: Y } }\nexport {}\n`,
    'dist/parts/star.d.ts': `export type { Z } from './effect.ts'\n`,
    'dist/parts/inline.d.ts': 'export interface X {}\n',
    'dist/parts/unused.d.ts': `export * from './star.ts'\n`,
    'dist/second.d.ts': 'export interface Y {}\n',
    'dist/index.js': '',
    'generated/glue.d.ts': 'export declare const glue: 1\n',
  })
  expect((await removeUnreachable(folder)).sort()).toEqual([
    join('dist', 'parts', 'unused.d.ts'),
    join('generated', 'glue.d.ts'),
  ])
  expect([existsSync(join(folder, 'dist/index.js')), existsSync(join(folder, 'dist/second.d.ts'))]).toEqual([
    true,
    true,
  ])
})

it('a file keeps the declarations that its entry points name, with their comments, and the imports that these need', async () => {
  write({
    'package.json': JSON.stringify({ exports }),
    'dist/index.d.ts': `export { type Store as Cache } from './store.ts'\nexport { default as make } from './store.ts'\n`,
    'dist/store.d.ts': [
      `/** A header. */\nimport type { Internal } from './parts/internal.ts'`,
      `import { type Key, type Internal as Other, keyOf } from './parts/key.ts'`,
      `import type * as nodePath from 'node:path'`,
      '/** One store. */\nexport declare class Store {\n    #private;\n    get(key: Key): Held;\n}',
      '/** Not named by Store. */\nexport declare function open(path: typeof nodePath): Internal | Other',
      'interface Held {\n    key: ReturnType<typeof keyOf>;\n}',
      'declare const make: () => Store',
      'export default make\n',
    ].join('\n'),
    'dist/parts/key.d.ts': 'export type Key = string\nexport declare function keyOf(): Key\nexport type Internal = 1\n',
    'dist/parts/internal.d.ts': 'export type Internal = 2\n',
  })
  expect(await removeUnreachable(folder)).toEqual([join('dist', 'parts', 'internal.d.ts')])
  expect(readFileSync(join(folder, 'dist/store.d.ts'), 'utf8')).toBe(
    [
      `import { type Key, keyOf } from './parts/key.ts'`,
      '/** One store. */\nexport declare class Store {\n    #private;\n    get(key: Key): Held;\n}',
      'interface Held {\n    key: ReturnType<typeof keyOf>;\n}',
      'declare const make: () => Store',
      'export default make\n',
    ].join('\n'),
  )
  expect(readFileSync(join(folder, 'dist/parts/key.d.ts'), 'utf8')).toBe(
    'export type Key = string\nexport declare function keyOf(): Key\n',
  )
})
