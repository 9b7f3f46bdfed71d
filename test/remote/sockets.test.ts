/** Without a remote, and with VARVE_OFFLINE=1, a process opens no socket, whatever it does with its cache. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { HttpServer } from './http.ts'
import { KEYS } from './machines.ts'

const VARVE = fileURLToPath(new URL('../../packages/varve/dist/index.js', import.meta.url))

/** Counts what goes out: TCP, TLS and local sockets all connect here, and lookups of names are in `dns`. */
const PROGRAM = `
import net from 'node:net'
import dns from 'node:dns'
let sockets = 0
const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...args) { sockets++; return Reflect.apply(connect, this, args) }
for (const name of ['lookup', 'resolve']) { const before = dns[name]; dns[name] = (...args) => { sockets++; return before(...args) } }
const { openCache } = await import(process.argv[2])
const cache = await openCache({ name: 'tool', dir: process.argv[3], onWarning: () => undefined })
cache.namespace('n', { codec: 'text' }).put('a', '1')
await cache.commit()
await cache.task('t').run({ id: 'x' }, () => 1)
await cache.compact({ full: true })
const { remote, engine } = cache.status()
await cache.close()
console.log(JSON.stringify({ sockets, engine, state: remote?.state ?? null }))
`

function run(env: NodeJS.ProcessEnv): { sockets: number; state: string | null; engine: string } {
  const folder = makeFolder()
  const program = join(folder, 'program.mjs')
  writeFileSync(program, PROGRAM)
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:VARVE|AWS)_/.test(name)))
  const args = [program, pathToFileURL(VARVE).href, join(folder, 'cache')]
  return JSON.parse(execFileSync(process.execPath, args, { env: { ...clean, ...env }, encoding: 'utf8' }))
}

describe.each(ENGINES)('a process with %s', (VARVE_ENGINE) => {
  const REMOTE = {
    VARVE_TRUSTED_KEYS: KEYS.publicKey,
    VARVE_REMOTE_MODE: 'read-write',
    VARVE_SIGNING_KEY: KEYS.signingKey,
  }
  const remotes = { HTTP: 'http://127.0.0.1:9/x', S3: 's3://bucket/x?endpoint=http://127.0.0.1:9' }
  const aws = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' }

  it('opens no socket without a remote', () => {
    expect(run({ VARVE_ENGINE })).toEqual({ sockets: 0, engine: VARVE_ENGINE, state: null })
  })

  it.each(Object.entries(remotes))(
    'opens no socket with VARVE_OFFLINE=1, and none with a remote that is off: %s',
    (_, VARVE_REMOTE) => {
      const env = { VARVE_ENGINE, VARVE_REMOTE, ...REMOTE, ...aws }
      expect(run({ ...env, VARVE_OFFLINE: '1' })).toEqual({ sockets: 0, engine: VARVE_ENGINE, state: 'offline' })
      expect(run({ ...env, VARVE_REMOTE_MODE: 'off' })).toEqual({ sockets: 0, engine: VARVE_ENGINE, state: null })
    },
  )

  it('opens sockets with a remote, which this test would notice', async () => {
    const server = await new HttpServer().start()
    server.stop()
    const { sockets, state } = run({ VARVE_ENGINE, VARVE_REMOTE: server.url, ...REMOTE })
    expect([sockets > 0, state]).toEqual([true, 'failed'])
  })
})
