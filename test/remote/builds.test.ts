/**
 * One application, built by webpack and by Vite on machines that share a remote through the environment alone. A fresh machine hits what
 * another has published. Whatever the remote does, the output is the same, and the build waits within the budget.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { directory, generateKeys } from '@varve/remote'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type EngineName, ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { buildWith, makeApplication, MODULES } from '../plugins/scenarios.ts'
import { build as buildWebpack } from '../plugins/webpack/runner.ts'
import { slow } from '../slow.ts'
import { type Answer, blobsOf, cutBodies, HANGS, HttpServer } from './http.ts'
import { KEYS, namesOf } from './machines.ts'

/** A build: its output, how many modules came from a cache, and what was reported. */
interface Built {
  readonly output: unknown
  readonly hits: number
  readonly warnings: readonly string[]
  readonly ms: number
}

type Build = (folder: string, engine?: EngineName, isCached?: boolean) => Promise<Built>

const VITE = buildWith(fileURLToPath(new URL('../plugins/vite/build.mjs', import.meta.url)), true)

const TOOLS: Readonly<Record<string, Build>> = {
  async webpack(folder, engine = 'native', isCached = true) {
    const startMs = performance.now()
    const [built] = await buildWebpack([{ folder, cache: isCached ? 'varve' : 'none' }], { VARVE_ENGINE: engine })
    if (built === undefined || built.errors.length > 0) throw new Error(`the build failed: ${built?.errors.join()}`)
    return { output: built.files, hits: built.taken, warnings: built.complaints, ms: performance.now() - startMs }
  },
  async Vite(folder, engine = 'native', isCached = true) {
    const startMs = performance.now()
    const { digest, hits, warnings, failure } = await VITE(folder, { isCached }, engine === 'wasm')
    if (failure !== null) throw new Error(failure)
    return { output: digest, hits, warnings, ms: performance.now() - startMs }
  },
}

/** An application that both tools build. */
function makeProject(): string {
  const folder = makeApplication()
  const rules = "module: { rules: [{ test: /text$/, type: 'asset/source' }] }"
  writeFileSync(join(folder, 'webpack.config.mjs'), `export default () => ({ entry: './main.js', ${rules} })\n`)
  return folder
}

/** Removes what a machine has besides the checkout. */
function makeFresh(folder: string): void {
  for (const name of ['cache', 'varve-cache', '.remote', 'dist', '.runs-cache'])
    rmSync(join(folder, name), { recursive: true, force: true })
}

function setRemote(address: string, signingKey = ''): void {
  const writing = { VARVE_REMOTE_MODE: signingKey === '' ? '' : 'read-write', VARVE_SIGNING_KEY: signingKey }
  const variables = {
    VARVE_REMOTE: address,
    VARVE_TRUSTED_KEYS: KEYS.publicKey,
    VARVE_LAYERS: '',
    VARVE_OFFLINE: '',
    ...writing,
  }
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
}

const remarksOf = ({ warnings }: Built): readonly string[] => warnings.filter((text) => text.includes('remote'))

afterEach(() => void vi.unstubAllEnvs())

describe.each(Object.entries(TOOLS))('%s', (_, build) => {
  const [folder, store] = [makeProject(), join(makeFolder(), 'store')]
  let [plain, published]: [Built | undefined, Built | undefined] = [undefined, undefined]

  beforeAll(async () => {
    plain = await build(folder, 'native', false)
    setRemote(pathToFileURL(store).href, KEYS.signingKey)
    published = await build(folder)
    vi.unstubAllEnvs()
  })

  it('the machine that publishes builds the same, and reports nothing', async () => {
    expect([published?.output, published?.hits, published?.warnings.filter((text) => text.includes('remote'))]).toEqual(
      [plain?.output, 0, []],
    )
    expect((await namesOf(directory(store))).filter((name) => name.endsWith('/head'))).toEqual(['v1/trusted/main/head'])
  })

  it('a fresh machine hits everything through a directory, with the other engine', async () => {
    makeFresh(folder)
    setRemote(pathToFileURL(store).href)
    const fresh = await build(folder, 'wasm')
    expect([fresh.output, remarksOf(fresh)]).toEqual([plain?.output, []])
    expect(fresh.hits).toBeGreaterThanOrEqual(MODULES)
  })

  it('a fresh machine hits everything over HTTP, and then without a connection', async () => {
    makeFresh(folder)
    const server = await new HttpServer().start()
    server.answer = blobsOf(directory(store))
    setRemote(server.url)
    const fresh = await build(folder)
    expect([fresh.output, remarksOf(fresh)]).toEqual([plain?.output, []])
    expect(fresh.hits).toBeGreaterThanOrEqual(MODULES)
    server.stop()
    for (const name of ['cache', 'varve-cache']) rmSync(join(folder, name), { recursive: true, force: true })
    const alone = await build(folder)
    expect([alone.output, remarksOf(alone)]).toEqual([plain?.output, [expect.stringContaining('ECONNREFUSED')]])
    expect(alone.hits).toBe(fresh.hits)
  })

  const FAULTS: Readonly<Record<string, { readonly answer?: Answer; readonly waitMs: number; readonly why: string }>> =
    {
      'is down': { waitMs: 1000, why: 'ECONNREFUSED' },
      'never answers': { answer: HANGS, waitMs: 2000, why: 'not done within 2000 ms' },
      'answers 500': { answer: (__, response) => void response.writeHead(500).end(), waitMs: 1000, why: 'status 500' },
      'asks to repeat after an hour': {
        answer: (__, response) => void response.writeHead(429, { 'retry-after': '3600' }).end(),
        waitMs: 1000,
        why: 'status 429',
      },
      'refuses expired credentials': {
        answer: (__, response) => void response.writeHead(403).end('<Error><Code>ExpiredToken</Code></Error>'),
        waitMs: 1000,
        why: 'ExpiredToken',
      },
      'cuts each body in the middle': {
        answer: cutBodies(directory(store)),
        waitMs: 2000,
        why: 'UND_ERR_SOCKET|ECONNRESET|the connection failed',
      },
      'sends 1 KB/s': { answer: blobsOf(directory(store), 1000), waitMs: 10_000, why: 'no complete answer within' },
      'has a manifest of another key': { answer: blobsOf(directory(store)), waitMs: 1000, why: 'is not trusted here' },
    }

  const cases = Object.entries(FAULTS).flatMap(([name, fault]) =>
    ENGINES.map((engine) => [name, engine, fault] as const),
  )
  it.each(cases)(
    'a remote that %s: the same output, in time, with one warning (%s)',
    slow,
    async (name, engine, { answer, waitMs, why }) => {
      makeFresh(folder)
      const server = await new HttpServer().start()
      if (answer === undefined) server.stop()
      else server.answer = answer
      setRemote(server.url)
      if (name.startsWith('has a manifest')) vi.stubEnv('VARVE_TRUSTED_KEYS', generateKeys().publicKey)
      const built = await build(folder, engine)
      if (answer !== undefined) server.stop()
      expect([built.output, built.hits]).toEqual([plain?.output, 0])
      // On a busy machine, an answer may take longer than it is waited for, and any build several times as long as another.
      expect(remarksOf(built)).toEqual([expect.stringMatching(new RegExp(`${why}|not done within 2000 ms`))])
      expect(built.ms).toBeLessThan(4 * (published?.ms ?? 0) + waitMs)
    },
  )
})
