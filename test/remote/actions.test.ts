/** The cache of GitHub Actions, which is a fake here: that the fake is like the service, and what a store makes of refusals. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { githubActions } from '@varve/remote'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { type Started, startFakeActions } from './servers.ts'

const LIBRARY = fileURLToPath(
  new URL('../../target/servers/node/node_modules/@actions/cache/lib/cache.js', import.meta.url),
)
const hasLibrary = existsSync(LIBRARY) || process.env['CI'] !== undefined
const text = (value: string): Uint8Array => new Uint8Array(Buffer.from(value))

let server: Started | undefined
beforeAll(async () => {
  server = await startFakeActions()
})
afterAll(async () => server?.stop())
afterEach(() => void vi.unstubAllEnvs())

describe('the fake server', () => {
  it.skipIf(!hasLibrary)(
    "accepts what GitHub's own library sends, and the library reads it again, by key and by prefix",
    async () => {
      const workspace = makeFolder()
      const program = `const { saveCache, restoreCache } = await import(${JSON.stringify(pathToFileURL(LIBRARY).href)})
const [key, ...prefixes] = JSON.parse(process.env.KEYS)
process.stderr.write(JSON.stringify(process.env.SAVES ? await saveCache(['file'], key) : await restoreCache(['file'], key, prefixes) ?? null))`
      const run = async (keys: readonly string[], saves = ''): Promise<unknown> => {
        const service = {
          ...server?.env,
          ACTIONS_CACHE_SERVICE_V2: 'true',
          GITHUB_WORKSPACE: workspace,
          RUNNER_TEMP: makeFolder(),
        }
        const env = { ...process.env, ...service, GITHUB_SERVER_URL: '', KEYS: JSON.stringify(keys), SAVES: saves }
        const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
          env,
          cwd: workspace,
        })
        return JSON.parse(ran.stderr)
      }
      writeFileSync(join(workspace, 'file'), 'content of the library')
      expect(await run(['library-1'], 'yes')).toBe(1)
      expect(await run(['library-1'], 'yes')).toBe(-1)
      writeFileSync(join(workspace, 'file'), 'newer content')
      expect(await run(['library-2'], 'yes')).toBe(1)
      rmSync(join(workspace, 'file'))
      expect(await run(['other'])).toBeNull()
      expect(await run(['library-1'])).toBe('library-1')
      expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('content of the library')
      expect(await run(['library-x', 'library-'])).toBe('library-2')
      expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('newer content')
    },
  )
})

describe('the cache of GitHub Actions', () => {
  it('outside of a workflow, and for steps without the token, is an error that names the variables', () => {
    for (const name of ['ACTIONS_RESULTS_URL', 'ACTIONS_RUNTIME_TOKEN']) vi.stubEnv(name, '')
    expect(() => githubActions()).toThrow(/ACTIONS_RESULTS_URL and ACTIONS_RUNTIME_TOKEN/)
    for (const [name, value] of Object.entries(server?.env ?? {})) vi.stubEnv(name, value)
    expect(() => githubActions()).not.toThrow()
    expect(() => githubActions({ url: 'http://example.com' })).toThrow(/plain http/)
  })

  it('with a token that may only read, writing is REMOTE_DENIED and reading works', async () => {
    const readOnly = await startFakeActions('read-only')
    expect(await readOnly.store.get('a')).toBeUndefined()
    await expect(readOnly.store.put('a', text('x'))).rejects.toMatchObject({ code: 'REMOTE_DENIED' })
    await readOnly.stop()
  })

  it('with a wrong token, every call is REMOTE_DENIED, without the token in its message', async () => {
    const store = githubActions({ url: server?.env['ACTIONS_RESULTS_URL'], token: 'not-the-token' })
    for (const call of [store.get('a'), store.put('a', text('x'))]) {
      await expect(call).rejects.toMatchObject({
        code: 'REMOTE_DENIED',
        message: expect.not.stringContaining('not-the-token'),
      })
    }
  })

  it('a chunk whose key a publisher has occupied and never uploaded is written all the same', async () => {
    const content = text('a chunk')
    const name = `v1/trusted/chunk/${createHash('sha256').update(content).digest('hex')}`
    const key = `varve-${createHash('sha256').update(`some/prefix/${name}`).digest('hex')}-0`
    const version = createHash('sha256').update('varve|1').digest('hex')
    const { ACTIONS_RESULTS_URL: url = '', ACTIONS_RUNTIME_TOKEN: token = '' } = server?.env ?? {}
    const call = `${url}twirp/github.actions.results.api.v1.CacheService/CreateCacheEntry`
    const request = {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ key, version }),
    }
    expect(await (await fetch(call, request)).json()).toMatchObject({ ok: true })
    expect(await server?.store.get(name)).toBeUndefined()
    expect(await server?.store.put(name, content, { ifAbsent: true })).toBe('stored')
    expect(Buffer.from((await server?.store.get(name))?.bytes ?? []).toString()).toBe('a chunk')
  })
})
