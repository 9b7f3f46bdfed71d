/**
 * Real servers on loopback for the tests of stores, which `npm run setup -- --servers` installs. A server that is missing is skipped with a line that
 * names it; in CI, its tests fail.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bazel, type BlobStore, directory, githubActions, redis, s3, turbo, webdav } from '@varve/remote'
import { makeFolder } from '../folders.ts'
import { freePort, serve } from './serve.ts'

/** A server with an empty store. */
export interface Started {
  readonly store: BlobStore
  /** A part of the same server for `VARVE_REMOTE`, with the variables that have its credentials. */
  readonly address: string
  readonly env: Readonly<Record<string, string>>
  readonly stop: () => Promise<void>
}

/** A kind of store. */
export interface StoreKind {
  readonly name: string
  /** Undefined if the server is not installed. */
  readonly start: (() => Promise<Started>) | undefined
}

const built = (name: string): string => fileURLToPath(new URL(`../../target/servers/${name}`, import.meta.url))
/** The program of versitygw; it may not be built. */
export const VERSITYGW: string = built('versitygw')
const FAKE_ACTIONS = fileURLToPath(new URL('servers/actions.mjs', import.meta.url))
const TURBO = built('node/node_modules/turborepo-remote-cache/dist/cli.js')

function outputOf(program: string, argument: string): string {
  const { stdout = '', stderr = '' } = spawnSync(program, [argument], { encoding: 'utf8' })
  return `${stdout}${stderr}`
}

/** The owner of the bucket. */
export const CREDENTIALS = { accessKeyId: 'rootkey', secretAccessKey: 'the-secret-of-s3' }

export const SECRETS = {
  key: CREDENTIALS.secretAccessKey,
  token: 'the-token-of-turbo',
  runtime: 'the-token-of-actions',
  password: 'the-password-of-the-store',
}

/** All kinds of stores. */
export const STORES: readonly StoreKind[] = [
  { name: 'directory', start: startDirectory },
  kind('S3 (versitygw)', existsSync(VERSITYGW), startVersitygw),
  kind('WebDAV (nginx)', outputOf('nginx', '-V').includes('http_dav_module'), startNginx),
  kind('bazel (bazel-remote)', existsSync(built('bazel-remote')), startBazelRemote),
  kind('turbo (turborepo-remote-cache)', existsSync(TURBO), startTurborepo),
  { name: 'GitHub Actions (a fake server)', start: () => startFakeActions() },
  kind('Redis (redis-server)', outputOf('redis-server', '--version').includes('v='), startRedis),
]

const startOf = (kindOfStore: string): StoreKind['start'] =>
  STORES.find(({ name }) => name.startsWith(kindOfStore))?.start

/** A bucket of versitygw; undefined if it is not installed. */
export const startS3: StoreKind['start'] = startOf('S3')

/** A directory of nginx; undefined if it is not installed. */
export const startWebdav: StoreKind['start'] = startOf('WebDAV')

function kind(name: string, isInstalled: boolean, start: () => Promise<Started>): StoreKind {
  return { name, start: isInstalled || process.env['CI'] !== undefined ? start : undefined }
}

/** Writes which servers are missing, so that a run without them is noticed. Returns their names. */
export function reportMissing(): readonly string[] {
  const missing = STORES.filter(({ start }) => start === undefined).map(({ name }) => name)
  for (const name of missing) process.stderr.write(`\n  SKIPPED the store ${name}: run 'npm run setup -- --servers'\n`)
  return missing
}

async function startDirectory(): Promise<Started> {
  const folder = makeFolder()
  return {
    store: directory(join(folder, 'store')),
    address: pathToFileURL(join(folder, 'team')).href,
    env: {},
    stop: async () => undefined,
  }
}

/** A bucket of versitygw, an S3 gateway over a directory. */
async function startVersitygw(): Promise<Started> {
  const [data, iam, port] = [makeFolder(), makeFolder(), await freePort()]
  mkdirSync(join(data, 'bucket'))
  const { accessKeyId, secretAccessKey } = CREDENTIALS
  const root = ['--access', accessKeyId, '--secret', secretAccessKey]
  const args = ['--port', `127.0.0.1:${port}`, ...root, '--iam-dir', iam, '--quiet', 'posix', data]
  const stop = await serve(VERSITYGW, args, port)
  const endpoint = `http://127.0.0.1:${port}`
  return {
    store: s3({ bucket: 'bucket', prefix: 'some/prefix', endpoint, credentials: CREDENTIALS }),
    address: `s3://bucket/team?endpoint=${endpoint}&region=us-east-1`,
    env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    stop,
  }
}

/** A directory of nginx. */
async function startNginx(): Promise<Started> {
  const [folder, port] = [makeFolder(), await freePort()]
  for (const name of ['data', 'temporary']) mkdirSync(join(folder, name), { mode: 0o777 })
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${user} daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
http {
  access_log off; client_body_temp_path ${folder}/temporary; client_max_body_size 64m;
  proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server { listen 127.0.0.1:${port}; root ${folder}/data; dav_methods PUT DELETE MKCOL; create_full_put_path on; }
}
`,
  )
  const stop = await serve('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], port)
  const url = `http://127.0.0.1:${port}`
  return {
    store: webdav({ url: `${url}/some/prefix` }),
    address: `${url}/team`,
    env: { VARVE_REMOTE_TOKEN: SECRETS.token },
    stop,
  }
}

/** bazel-remote as it is started without options, but with a password. */
async function startBazelRemote(): Promise<Started> {
  const [folder, port] = [makeFolder(), await freePort()]
  // The file has the SHA-1 of the password, as htpasswd writes it.
  const passwords = join(folder, 'passwords')
  writeFileSync(passwords, `team:{SHA}${createHash('sha1').update(SECRETS.password).digest('base64')}\n`)
  const args = [
    '--dir',
    join(folder, 'cache'),
    '--max_size',
    '1',
    '--http_address',
    `127.0.0.1:${port}`,
    '--grpc_address',
    'none',
  ]
  const stop = await serve(
    built('bazel-remote'),
    [...args, '--htpasswd_file', passwords, '--access_log_level', 'none'],
    port,
  )
  const url = `http://127.0.0.1:${port}`
  return {
    store: bazel({ url: `${url}/some-instance`, credentials: { username: 'team', password: SECRETS.password } }),
    address: `bazel+${url}/team`,
    env: { VARVE_REMOTE_USER: 'team', VARVE_REMOTE_PASSWORD: SECRETS.password },
    stop,
  }
}

/** turborepo-remote-cache over a directory. */
async function startTurborepo(): Promise<Started> {
  const [folder, port] = [makeFolder(), await freePort()]
  const storage = {
    STORAGE_PROVIDER: 'local',
    STORAGE_PATH: join(folder, 'cache'),
    STORAGE_PATH_USE_TMP_FOLDER: 'false',
  }
  const env = {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: String(port),
    TURBO_TOKEN: SECRETS.token,
    LOG_LEVEL: 'error',
    ...storage,
  }
  const stop = await serve(process.execPath, [TURBO], port, { env, cwd: folder })
  const url = `http://127.0.0.1:${port}`
  return {
    store: turbo({ url, token: SECRETS.token, team: 'some-team' }),
    address: `turbo+${url}?team=team_other`,
    env: { TURBO_TOKEN: SECRETS.token },
    stop,
  }
}

/** The cache service of GitHub Actions runs only at GitHub, so this is a fake of it. */
export async function startFakeActions(mode: 'read-write' | 'read-only' = 'read-write'): Promise<Started> {
  const port = await freePort()
  const stop = await serve(process.execPath, [FAKE_ACTIONS, String(port), SECRETS.runtime, mode], port)
  const url = `http://127.0.0.1:${port}/`
  return {
    store: githubActions({ url, token: SECRETS.runtime, prefix: 'some/prefix' }),
    address: 'github-actions:team',
    env: { ACTIONS_RESULTS_URL: url, ACTIONS_RUNTIME_TOKEN: SECRETS.runtime },
    stop,
  }
}

/** redis-server with a password, without files. */
async function startRedis(): Promise<Started> {
  const [folder, port] = [makeFolder(), await freePort()]
  const memory = ['--save', '', '--appendonly', 'no', '--maxmemory', '256mb', '--maxmemory-policy', 'allkeys-lru']
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--requirepass',
    SECRETS.password,
    ...memory,
  ]
  const stop = await serve('redis-server', args, port)
  const url = `redis://127.0.0.1:${port}`
  return {
    store: redis({ url, prefix: 'some:prefix', credentials: { password: SECRETS.password } }),
    address: `${url}/1?prefix=team`,
    env: { VARVE_REMOTE_PASSWORD: SECRETS.password },
    stop,
  }
}
