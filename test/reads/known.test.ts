/** Native packages that are known to work on what they are given: using them keeps results. Unknown ones, processes and workers do not. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { transform as esbuild } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { installReads, ReadScope, uninstallReads } from 'varve/reads'
import { makeFolder } from '../folders.ts'

installReads()
const require = createRequire(import.meta.url)
const installed = join(makeFolder(), 'node_modules')

function reasonAfter(work: (scope: ReadScope) => unknown, isDeclared = false): string | undefined {
  const scope = new ReadScope({ name: 'test', root: makeFolder(), isDeclared })
  scope.run(() => work(scope))
  return scope.reason
}

afterAll(() => uninstallReads())

describe('results are kept after work that uses', () => {
  it('esbuild: its service is a process', async () => {
    const scope = new ReadScope({ name: 'test', root: makeFolder() })
    await scope.run(() => esbuild('let a: 1', { loader: 'ts' }))
    expect(scope.reason).toBeUndefined()
  })

  it('Lightning CSS: its addon is loaded', () => {
    expect(reasonAfter(() => require('lightningcss').transform({ filename: 'a.css', code: Buffer.from('a{color:red}') }))).toBeUndefined()
  })

  it.each([
    '@rolldown/binding-linux-x64-gnu/rolldown-binding.linux-x64-gnu.node',
    '@rollup/rollup-linux-x64-gnu/rollup.linux-x64-gnu.node',
    '@rspack/binding-linux-x64-gnu/rspack.linux-x64-gnu.node',
    '@oxc-parser/binding-linux-x64-gnu/parser.linux-x64-gnu.node',
  ])('results of work that loads the addon %s are kept', (path) => {
    expect(reasonAfter((scope) => scope.opaque({ kind: 'addon', what: join(installed, path) }))).toBeUndefined()
  })
})

describe('results are not kept after work that', () => {
  it('results of work that loads an unknown addon are not kept, unless files are declared', () => {
    const what = join(installed, 'other/other.node')
    expect(reasonAfter((scope) => scope.opaque({ kind: 'addon', what }))).toBe(`loaded the native addon '${what}', whose reads cannot be seen`)
    expect(reasonAfter((scope) => scope.opaque({ kind: 'addon', what }), true)).toBeUndefined()
  })

  it('results of work that starts a worker thread are not kept', async () => {
    let worker: Worker | undefined
    const reason = reasonAfter(() => (worker = new Worker('', { eval: true })))
    expect(worker).toBeInstanceOf(Worker)
    await worker?.terminate()
    expect(reason).toContain('started the worker thread')
  })
})
