/**
 * A build in another checkout takes everything from the cache, and emits the bytes of a build without one.
 *
 * No build of Vite did: with Vite installed inside the project, its config names Vite's client as `/@fs/checkout/node_modules/vite/..`, and
 * the root was not found behind `/@fs`. The tests had Vite outside of both projects. In a monorepo, modules above Vite's root had absolute ids.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder, snapshot } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { install, type Layout } from './installed.ts'

const CONFIG = `import vue from '@vitejs/plugin-vue'
import { varve } from '@varve/plugins/vite'
const shout = { name: 'shout', transform: (code, id) => /words\\.js$/.test(id) ? { code: code.replace('"word"', '"WORD"'), map: null } : null }
export default {
  plugins: [vue(), shout, process.env.PLAIN ? null : varve({ plugins: ['vue', 'shout'], report: true, dir: 'cache' })],
  build: { minify: false, sourcemap: true, rollupOptions: { input: 'src/main.js', external: ['vue'] } },
}
`
const COMPONENT =
  '<script setup>\nconst name = "word"\n</script>\n<template><p>{{ name }}</p></template>\n<style scoped>p { color: red }</style>\n'

const SINGLE: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "app", "private": true, "type": "module" }',
  'vite.config.mjs': CONFIG,
  'src/main.js': "import { words } from './words.js'\nimport App from './app.vue'\nconsole.log(words, App)\n",
  'src/words.js': 'export const words = "word"\n',
  'src/app.vue': COMPONENT,
}

/** An application that imports a package beside it by its name, and a file of another one by its path. */
const MONOREPO: Readonly<Record<string, string>> = {
  'apps/web/package.json': '{ "name": "web", "private": true, "type": "module" }',
  'apps/web/vite.config.mjs': CONFIG,
  'apps/web/src/main.js':
    "import { words } from 'ui/words.js'\nimport Card from '../../../libs/cards/card.vue'\nimport App from './app.vue'\nconsole.log(words, Card, App)\n",
  'apps/web/src/app.vue': COMPONENT,
  'libs/cards/card.vue': COMPONENT.replace('word', 'card'),
  'packages/ui/package.json': '{ "name": "ui", "type": "module" }',
  'packages/ui/words.js': 'export const words = "word"\n',
}

/** What makes a directory the one that is moved as a whole. */
const AROUND: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a workspace of npm': { 'package.json': '{ "private": true, "workspaces": ["apps/*", "packages/*"] }' },
  'a workspace of pnpm': { 'package.json': '{ "private": true }', 'pnpm-workspace.yaml': "packages: ['apps/*']\n" },
  'a workspace of Nx': { 'package.json': '{ "private": true }', 'nx.json': '{}' },
  'a clone of Git': { 'package.json': '{ "private": true }', '.git/HEAD': 'ref: refs/heads/main\n' },
}

const TOOLS = ['vite', '@vitejs/plugin-vue', 'vue', '@varve/plugins']

function makeCheckout(files: Readonly<Record<string, string>>, layout: Layout): string {
  const folder = makeFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  install(folder, TOOLS, layout)
  return folder
}

interface Built {
  /** The line of the report. */
  readonly report: string
  readonly files: Readonly<Record<string, string>>
}

/** Builds the application in a folder of a checkout, with the Vite that is installed there. */
function build(checkout: string, project: string, env: Readonly<Record<string, string>> = {}): Built {
  const folder = join(checkout, project)
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const vite = join(checkout, 'node_modules/vite/bin/vite.js')
  const { stdout, stderr, status } = spawnSync(process.execPath, [vite, 'build'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: '', VITEST: '', ...env },
  })
  const output = `${stdout}${stderr}`
  expect(status, output).toBe(0)
  const files = Object.entries(snapshot(join(folder, 'dist'))).map(([path, bytes]) => [
    path.slice(folder.length),
    bytes,
  ])
  return { report: /varve: .*/.exec(output)?.[0] ?? output, files: Object.fromEntries(files) }
}

/** Builds in a checkout and then in a copy of it, which has a copy of the cache. */
function expectHitsElsewhere(checkout: string, project: string): void {
  const cold = build(checkout, project)
  expect(cold.report).toMatch(/^varve: 0 of [1-9]/)
  const count = /of (\d+)/.exec(cold.report)?.[1] ?? ''
  const other = join(makeFolder(), 'deeper', 'elsewhere')
  cpSync(checkout, other, { recursive: true, verbatimSymlinks: true })
  const warm = build(other, project)
  expect(warm.report).toContain(`varve: ${count} of ${count} `)
  const plain = build(other, project, { PLAIN: '1' })
  expect(warm.files).toEqual(plain.files)
  expect(Object.keys(plain.files).length).toBeGreaterThan(2)
}

describe('a build of Vite in another checkout', () => {
  it.each<Layout>(['npm', 'pnpm'])('misses if Vite is installed inside the project, by %s', slow, (layout) => {
    expectHitsElsewhere(makeCheckout(SINGLE, layout), '.')
  })

  it.each(Object.entries(AROUND))('misses for code above the root of Vite, in %s', slow, (name, around) => {
    const layout = name.includes('pnpm') ? 'pnpm' : 'npm'
    const checkout = makeCheckout({ ...MONOREPO, ...around }, layout)
    symlinkSync('../packages/ui', join(checkout, 'node_modules/ui'))
    expectHitsElsewhere(checkout, 'apps/web')
  })

  it('a component above the root is stale after an edit in the other checkout', slow, () => {
    const checkout = makeCheckout({ ...MONOREPO, ...AROUND['a workspace of npm'] }, 'npm')
    symlinkSync('../packages/ui', join(checkout, 'node_modules/ui'))
    build(checkout, 'apps/web')
    const card = join(checkout, 'libs/cards/card.vue')
    writeFileSync(card, readFileSync(card, 'utf8').replace('card', 'CARD'))
    const edited = build(checkout, 'apps/web')
    expect(edited.report).toMatch(/^varve: [1-9]/)
    expect(edited.files).toEqual(build(checkout, 'apps/web', { PLAIN: '1' }).files)
  })
})
