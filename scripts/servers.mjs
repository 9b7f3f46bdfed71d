// @ts-check
// `npm run setup -- --servers`: installs the servers against which `test/remote` tests the stores. The versions are pinned in test/remote/servers.
//
//   versitygw (S3), bazel-remote, toxiproxy    built with Go into target/servers
//   turborepo-remote-cache, @actions/cache     npm ci in target/servers/node, with the lock file of test/remote/servers/node
//   nginx (WebDAV), redis-server               scripts/programs.mjs; otherwise they have to be there
//   minio (a cluster of four)                  with `--long` only: built with Go, which takes 3 minutes of CPU time
//
// What is missing is skipped, loudly; in CI (variable `CI`) it is a failure.
import { existsSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isInstalled } from './common/install.mjs'
import { installPackages } from './programs.mjs'
import { at } from './common/root.mjs'
import { run, runMain, Skipped, step, StepFailed } from './common/steps.mjs'
import { npm } from './common/tools.mjs'

const PINS = 'test/remote/servers'

/** The Go programs, each with the module that pins it. Modules of their own, because their dependencies do not agree. */
const PROGRAMS = {
  toxiproxy: { pins: PINS, source: 'github.com/Shopify/toxiproxy/v2/cmd/server' },
  'bazel-remote': { pins: join(PINS, 'bazel'), source: 'github.com/buchgr/bazel-remote/v2' },
  versitygw: { pins: PINS, source: 'github.com/versity/versitygw/cmd/versitygw' },
  minio: { pins: join(PINS, 'minio'), source: 'github.com/minio/minio' },
}

/** Debian packages by program. nginx needs its WebDAV module. */
const PACKAGES = { nginx: ['nginx-light', 'libnginx-mod-http-dav-ext'], 'redis-server': ['redis-server'] }

/** Whether a command runs at all. @param {string} command @param {string} argument */
const runs = (command, argument) =>
  run(command, [argument]).then(
    () => true,
    () => false,
  )

/** @param {keyof typeof PROGRAMS} name */
async function build(name) {
  const { pins, source } = PROGRAMS[name]
  const program = at(join('target/servers', name))
  if (!(await runs('go', 'version'))) {
    if (existsSync(program)) return
    throw new Skipped(`${name} is built with Go 1.25 or newer, which is not on PATH`)
  }
  await mkdir(at('target/servers'), { recursive: true })
  await run('go', ['build', '-mod=readonly', '-o', program, source], { cwd: at(pins) })
}

async function installNode() {
  const folder = 'target/servers/node'
  await mkdir(at(folder), { recursive: true })
  for (const file of ['package.json', 'package-lock.json'])
    await copyFile(at(join(PINS, 'node', file)), at(join(folder, file)))
  if (isInstalled(folder)) return
  await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', at(folder)])
}

async function installServers() {
  const missing = await missingPackages()
  if (missing.length > 0) await installPackages(missing)
}

async function missingPackages() {
  const nginx = await run('nginx', ['-V']).catch(() => '')
  const hasRedis = await runs('redis-server', '--version')
  return [...(nginx.includes('http_dav_module') ? [] : PACKAGES.nginx), ...(hasRedis ? [] : PACKAGES['redis-server'])]
}

/** Runs a step, and returns whether it was skipped. @param {string} name @param {() => Promise<void>} work */
async function isSkipped(name, work) {
  try {
    await step(name, work)
    return false
  } catch (error) {
    if (!(error instanceof Skipped)) throw error
    process.stderr.write(`    ${error.message}\n`)
    return true
  }
}

/** Packages are downloaded while Go compiles. @returns {Promise<boolean>} whether anything was skipped */
async function installAll() {
  const compiled = async () => {
    let skipped = false
    const names = /** @type {(keyof typeof PROGRAMS)[]} */ (Object.keys(PROGRAMS))
    for (const name of names.filter((each) => each !== 'minio' || process.argv.includes('--long'))) {
      skipped = (await isSkipped(`go build ${name}`, () => build(name))) || skipped
    }
    return skipped
  }
  const downloaded = async () => {
    const skipped = await isSkipped('nginx (WebDAV), redis-server', installServers)
    return (await isSkipped('npm ci turborepo-remote-cache', installNode)) || skipped
  }
  const outcomes = await Promise.allSettled([compiled(), downloaded()])
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  return outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value)
}

await runMain(async () => {
  if ((await installAll()) && process.env.CI !== undefined) {
    process.stderr.write('\nCI tests every store against its server, so none may be missing\n')
    throw new StepFailed('servers')
  }
})
