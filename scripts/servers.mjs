// @ts-check
// `npm run servers`: prepares the servers against which `test/remote` tests the stores. It builds versitygw (S3), and toxiproxy for
// bench/remote, with Go from the versions that test/remote/servers pins, into target/servers, and looks for nginx (WebDAV). Tests skip,
// loudly, what is missing.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { at } from './root.mjs'
import { run, runMain, Skipped, step } from './steps.mjs'

const PROGRAMS = {
  versitygw: 'github.com/versity/versitygw/cmd/versitygw',
  toxiproxy: 'github.com/Shopify/toxiproxy/v2/cmd/server',
}

/** @param {keyof typeof PROGRAMS} name */
async function build(name) {
  const folder = at('target/servers')
  if (existsSync(join(folder, name))) return
  const hasGo = await run('go', ['version']).then(() => true, () => false)
  if (!hasGo) throw new Skipped(`${name} needs Go 1.25 or newer`)
  await mkdir(folder, { recursive: true })
  await run('go', ['build', '-mod=readonly', '-o', join(folder, name), PROGRAMS[name]], { cwd: at('test/remote/servers') })
}

async function findNginx() {
  const found = await run('nginx', ['-V']).catch(() => '')
  if (!found.includes('http_dav_module')) throw new Skipped("nginx with WebDAV is not installed; on Debian: 'apt-get install nginx-light'")
}

await runMain(async () => {
  /** @type {readonly (readonly [name: string, work: () => Promise<void>])[]} */
  const servers = [
    ['versitygw (S3), several minutes', () => build('versitygw')],
    ['toxiproxy (delays)', () => build('toxiproxy')],
    ['nginx (WebDAV)', findNginx],
  ]
  for (const [name, work] of servers) {
    await step(name, work).catch((error) => {
      if (!(error instanceof Skipped)) throw error
      process.stderr.write(`    ${error.message}\n`)
    })
  }
})
