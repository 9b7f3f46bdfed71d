/** Variables that name a proxy: no request goes there, and what fails names them, without the value, which may have a password. */
import { remoteDoctor, webdav } from '@varve/remote'
import { openCache } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { HttpServer } from './http.ts'
import { KEYS, Machine } from './machines.ts'

afterEach(() => void vi.unstubAllEnvs())

const VARIABLES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

describe.each(VARIABLES)('%s', (name) => {
  it('is not used, and the error of a connection that fails has its name', async () => {
    const [proxy, store] = [await new HttpServer().start(), await new HttpServer().start()]
    store.answer = (_, response) => void response.writeHead(404).end()
    for (const each of VARIABLES) vi.stubEnv(each, '')
    vi.stubEnv(name, proxy.url.replace('http://', 'http://user:THE-PASSWORD@'))
    const blobs = webdav({ url: store.url })
    expect(await blobs.get('v1/trusted/main/head')).toBeUndefined()
    store.stop()
    const machine = new Machine(blobs)
    const warnings: string[] = []
    const remote = machine.remote()
    const onWarning = ({ message }: Error): void => void warnings.push(message)
    await (await openCache({ name: 'tool', dir: machine.dir, remote, onWarning })).close()
    expect([warnings.length, proxy.requests]).toEqual([1, 0])
    expect(warnings[0]).toContain(`${name} is not used, because remotes connect to the store directly`)
    expect(warnings[0]).not.toContain('THE-PASSWORD')
    proxy.stop()
  })

  it('is a finding of the doctor, unless the store is a directory', async () => {
    const environment = { VARVE_TRUSTED_KEYS: KEYS.publicKey, [name]: 'http://user:THE-PASSWORD@127.0.0.1:1' }
    const findingsOf = async (VARVE_REMOTE: string): Promise<string> => {
      const { findings } = await remoteDoctor({ ...environment, VARVE_REMOTE }, { dir: makeFolder(), offline: true })
      return JSON.stringify(findings)
    }
    const found = await findingsOf('https://cache.example.com')
    expect([found.includes(`${name} is not used`), found.includes('THE-PASSWORD')]).toEqual([true, false])
    expect(await findingsOf('file:///shared')).not.toContain('is not used')
  })
})
