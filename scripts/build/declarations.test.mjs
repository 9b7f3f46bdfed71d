// @ts-check
// Which declarations a published package keeps.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

it('a package keeps the declarations that its entry points import in any way, and no others', async () => {
  write({
    'package.json': JSON.stringify({ exports: { '.': { types: './dist/index.d.ts' }, './package.json': './package.json' } }),
    'dist/index.d.ts': `import './parts/effect.ts'\nexport * from './parts/star.ts'\nexport declare const x: import("./parts/inline.js").X\n`,
    'dist/parts/effect.d.ts': `import type { Y } from '../second.ts'\n`,
    'dist/parts/star.d.ts': `export type { Z } from './effect.ts'\n`,
    'dist/parts/inline.d.ts': 'export interface X {}\n',
    'dist/parts/unused.d.ts': `export * from './star.ts'\n`,
    'dist/second.d.ts': 'export interface Y {}\n',
    'dist/index.js': '',
    'generated/glue.d.ts': 'export declare const glue: 1\n',
  })
  expect((await removeUnreachable(folder)).sort()).toEqual([join('dist', 'parts', 'unused.d.ts'), join('generated', 'glue.d.ts')])
  expect([existsSync(join(folder, 'dist/index.js')), existsSync(join(folder, 'dist/second.d.ts'))]).toEqual([true, true])
})
