/** The server of `varve view` answers this machine's user, who has the token, and writes nothing. */
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { connect } from 'node:net'
import { once } from 'node:events'
import * as view from '@varve/view'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type * as command from '../../packages/varve/src/cli/view.ts'

/** The compiler compares the package with what the command uses of it. */
const module: command.ViewModule = view

/** A source without caches; it records what the page asks of it. */
class Recorder implements view.Source {
  readonly asked: string[] = []
  stopped = false

  async overview(): ReturnType<view.Source['overview']> {
    this.asked.push('overview')
    return { format: 1, createdMs: 1, findings: [], remote: null, caches: [] }
  }

  async contents(dir: string, { onProgress }: view.Control): ReturnType<view.Source['contents']> {
    this.asked.push(`contents ${dir}`)
    onProgress?.(1, 2)
    throw new Error(`no cache in ${dir}`)
  }

  async verify(_dir: string, { signal }: view.Control): ReturnType<view.Source['verify']> {
    this.asked.push('verify')
    if (signal !== undefined) await once(signal, 'abort')
    this.stopped = true
    throw new Error('stopped')
  }

  async why(dir: string, ids: Parameters<view.Source['why']>[1]): ReturnType<view.Source['why']> {
    this.asked.push(`why ${dir} ${JSON.stringify(ids)}`)
    return []
  }
}

interface Answer {
  readonly status: number | undefined
  readonly text: string
  readonly headers: NodeJS.Dict<string | string[]>
}

let server: command.ViewServer
const source = new Recorder()
beforeAll(async () => {
  server = await module.serve(source, { port: 0 })
})
afterAll(() => server.close())

async function ask(
  path: string,
  options: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const sent = request(new URL(path, server.url), options)
  sent.end()
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode, text, headers: response.headers }
}

describe('the server of varve view', () => {
  it('the server answers with the token only, which is new each time', async () => {
    expect((await ask('')).status).toBe(200)
    for (const path of [
      '/',
      '/overview',
      `/${'x'.repeat(32)}/overview`,
      `/${server.url.split('/').at(-2)?.slice(1)}/`,
    ]) {
      expect([path, (await ask(path)).status]).toEqual([path, 403])
    }
    const other = await module.serve(source, { port: 0 })
    await other.close()
    expect(new URL(other.url).pathname).not.toBe(new URL(server.url).pathname)
    expect(new URL(server.url).pathname.length).toBeGreaterThan(32)
    expect(source.asked).toEqual([])
  })

  it('the server refuses requests that name it by another host, as after DNS rebinding', async () => {
    const { port } = new URL(server.url)
    for (const Host of ['evil.example', `evil.example:${port}`, '127.0.0.1:1', '127.0.0.1']) {
      expect([Host, (await ask('overview', { headers: { Host } })).status]).toEqual([Host, 403])
    }
    expect((await ask('overview', { headers: { Host: `localhost:${port}` } })).status).toBe(200)
  })

  it('the server listens on loopback only', async () => {
    const { hostname, port } = new URL(server.url)
    expect(hostname).toBe('127.0.0.1')
    const others = Object.values(networkInterfaces())
      .flat()
      .filter((one) => one !== undefined && !one.internal && one.family === 'IPv4')
    for (const other of others) {
      const socket = connect(Number(port), other?.address ?? '')
      const [error]: unknown[] = await once(socket, 'error').catch((thrown: unknown) => [thrown])
      expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    }
  })

  it('the server refuses all methods that do not read', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const { status, headers } = await ask('overview', { method })
      expect([method, status, headers['allow']]).toEqual([method, 405, 'GET, HEAD'])
    }
    expect(await ask('', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
  })

  it('the server has no other pages, and no files', async () => {
    for (const path of [
      'overviews',
      'page.css',
      '../../etc/passwd',
      '%2e%2e/%2e%2e/etc/passwd',
      'overview/x',
      '%',
      'x'.repeat(5000),
    ]) {
      expect([path, [403, 404].includes((await ask(path)).status ?? 0)]).toEqual([path, true])
    }
  })

  it('every answer forbids caching, sniffing and referrers, and the page has a policy that allows only its own script', async () => {
    const { headers, text } = await ask('')
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    const digest = String.raw`'sha256-[^' ]+'`
    const policy = new RegExp(`^default-src 'none'; script-src ${digest}; style-src ${digest}; connect-src 'self';`)
    expect(headers['content-security-policy']).toMatch(policy)
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(text).not.toMatch(/(?:src|href)="(?!data:,")/)
  })

  it('the server passes questions on, with progress and errors as lines', async () => {
    source.asked.length = 0
    expect(JSON.parse((await ask('overview')).text).result.format).toBe(1)
    const lines = (await ask('contents?dir=%2Fa%20b')).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toEqual([{ progress: [1, 2] }, { error: 'no cache in /a b' }])
    expect(JSON.parse((await ask('why?dir=d&id=%3Cb%3E&task=t')).text)).toEqual({ result: [] })
    expect(source.asked).toEqual(['overview', 'contents /a b', 'why d [{"id":"<b>","task":"t"}]'])
  })

  it('a long call ends when the page is closed', async () => {
    const sent = request(new URL('verify?dir=d', server.url))
    sent.on('error', () => undefined)
    sent.end()
    await once(sent, 'response')
    sent.destroy()
    for (let look = 0; look < 100 && !source.stopped; look++) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(source.stopped).toBe(true)
  })
})
