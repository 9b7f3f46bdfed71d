/** Real servers on loopback for the tests of stores. One that is not installed is skipped, with a line that names it. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { s3, webdav, type BlobStore } from '@varve/remote'
import { makeFolder } from '../folders.ts'

const VERSITYGW = fileURLToPath(new URL('../../target/servers/versitygw', import.meta.url))

/** A free port of loopback. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Starts a program and waits until it answers at `url`. Returns what ends it. */
async function serve(program: string, args: readonly string[], url: string): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for (let attempt = 0; child.exitCode === null && attempt < 200; attempt++) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer !== undefined) {
      return async () => {
        child.kill()
        await ended
      }
    }
    await delay(50)
  }
  child.kill()
  throw new Error(`${program} does not answer at ${url}`)
}

/** A server, its address for VARVE_REMOTE, and what stops it. */
export interface Started {
  readonly address: string
  readonly stop: () => Promise<void>
}

export interface StartedStore extends Started {
  readonly store: BlobStore
}

export const CREDENTIALS = { accessKeyId: 'rootkey', secretAccessKey: 'rootsecret' }

/** A bucket of versitygw, an S3 gateway over a directory. Undefined if it is not built. */
export const startS3: (() => Promise<StartedStore>) | undefined = existsSync(VERSITYGW) ? startVersitygw : undefined

async function startVersitygw(): Promise<StartedStore> {
  const [data, iam] = [makeFolder(), makeFolder()]
  mkdirSync(join(data, 'bucket'))
  const address = `127.0.0.1:${await freePort()}`
  const root = ['--access', CREDENTIALS.accessKeyId, '--secret', CREDENTIALS.secretAccessKey]
  const stop = await serve(VERSITYGW, ['--port', address, ...root, '--iam-dir', iam, '--quiet', 'posix', data], `http://${address}/`)
  const endpoint = `http://${address}`
  const store = s3({ bucket: 'bucket', prefix: 'some/prefix', endpoint, credentials: CREDENTIALS })
  return { store, stop, address: `s3://bucket/team?endpoint=${endpoint}&region=us-east-1` }
}

const hasNginx = spawnSync('nginx', ['-V'], { encoding: 'utf8' }).stderr?.includes('http_dav_module') === true

/** A directory of nginx. Undefined if nginx with WebDAV is not installed. */
export const startWebdav: (() => Promise<StartedStore>) | undefined = hasNginx ? startNginx : undefined

async function startNginx(): Promise<StartedStore> {
  const [folder, port] = [makeFolder(), await freePort()]
  for (const name of ['data', 'temporary']) mkdirSync(join(folder, name), { mode: 0o777 })
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(join(folder, 'nginx.conf'), `${user} daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
http {
  access_log off; client_body_temp_path ${folder}/temporary; client_max_body_size 64m;
  proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server { listen 127.0.0.1:${port}; root ${folder}/data; dav_methods PUT DELETE MKCOL; create_full_put_path on; }
}
`)
  const stop = await serve('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], `http://127.0.0.1:${port}/`)
  const url = `http://127.0.0.1:${port}`
  return { store: webdav({ url: `${url}/some/prefix` }), stop, address: `${url}/team` }
}

/** Says which servers are missing, so that a run without them is noticed. */
export function reportSkipped(missing: readonly string[]): void {
  for (const line of missing) process.stderr.write(`\n  SKIPPED ${line}: run 'npm run servers'\n`)
}
