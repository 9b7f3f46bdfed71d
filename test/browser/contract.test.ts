/** The contract that the engines pass in Node.js, in headless Chromium: in a worker over its private files, and in memory. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser } from '../../scripts/common/browser.mjs'
import { slow } from '../slow.ts'
import { openSite, type Site } from './site.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Tests of what needs Node.js: the codec `v8`, streams, layers, and the context by which work that waits for itself is detected. */
const LEFT: readonly string[] = [
  'getOrPut rejects with TASK_CYCLE if its compute waits for the same key',
  'values of the codec v8 are read back',
  'values that a codec cannot represent are read back as other values',
  'properties without a value, and values that the codec represents, are read back',
  'values of a type that the codec does not take are refused',
  'values share no memory with arrays that the caller passed or received',
  'the oldest of more than 1,000 records are removed, and values that are no records are never returned',
  'statistics, exports and seals have what was put and no records',
]

/** The program of the worker, with `varve` as the site has it. */
async function programOf(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here('contract-worker.ts')],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
    inject: [here('buffer.ts')],
    plugins: [
      {
        name: 'browser',
        setup({ onResolve }) {
          onResolve({ filter: /^varve$/ }, () => ({ path: '/dist/bundle/index.js', external: true }))
          onResolve({ filter: /^vitest$/ }, () => ({ path: here('vitest.ts') }))
          onResolve({ filter: /^node:|\/folders\.ts$/ }, () => ({ path: here('host.ts') }))
        },
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}

describe.skipIf(!hasBrowser())('contract in Chromium', slow, () => {
  let site: Site
  beforeAll(async () => void (site = await openSite({ '/contract.js': await programOf() })))
  afterAll(async () => site?.close())

  it.each(['private', 'memory'])(
    'every test of the contract that needs no module of Node.js passes (%s)',
    async (place) => {
      const ask = await site.start(place, '/contract.js')
      const { ran, failed } = (await ask(place, LEFT)) as { ran: string[]; failed: string[] }
      expect(failed).toEqual([])
      expect(ran.length).toBeGreaterThan(60)
    },
  )
})
