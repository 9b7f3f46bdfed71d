// @ts-check
/**
 * What a remote costs and saves, against the goals: builds by webpack and Vite on a machine without caches, behind a round trip of 60 ms and 5 ms
 * at 100 MB/s, beside local builds; a pull of 5,000 values of 4 KiB; reopening without a change. `--rounds 3`, `--full` (the demo's large
 * application), `--engine wasm`, `--only pull`.
 *
 * The proxy delays bytes and not the handshake, so a real connection adds a round trip, and TLS two.
 */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { generateKeys, openRemote, pull, push, s3 } from '@varve/remote'
import { openCache } from 'varve'
import { SIZES, writeApplication } from '../../scripts/demo/application.mjs'
import { at } from '../../scripts/common/root.mjs'
import { run, runMain } from '../../scripts/common/steps.mjs'
import { shuffled } from '../api/data.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'
import { writeApplication as writeViteApplication } from '../vite/application.mjs'
import { CREDENTIALS, startServers } from './servers.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    full: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'native' },
    only: { type: 'string', default: '' },
  },
})
process.env['VARVE_ENGINE'] = options.engine // has precedence over what the builds choose
const ROUNDS = Number(options.rounds)
const home = at('.demo/remote')
const keys = generateKeys()

/** @typedef {{ name: string, write: () => Promise<void>, args: (cacheDir: string) => string[] }} Tool */

/** @type {readonly Tool[]} */
const TOOLS = [
  {
    name: 'webpack',
    write: () => writeApplication(at('.demo'), options.full ? SIZES.full : SIZES.quick),
    args: (cacheDir) => [
      at('scripts/demo/build.mjs'),
      JSON.stringify({ cache: 'varve', engine: 'native', app: at('.demo'), output: join(home, 'dist'), cacheDir }),
    ],
  },
  {
    name: 'vite',
    write: () => writeViteApplication(join(home, 'vite'), options.full ? 1000 : 300),
    args: (cacheDir) => [
      at('bench/vite/build.mjs'),
      JSON.stringify({
        tool: 'vite',
        isCached: true,
        folder: join(home, 'vite'),
        output: join(home, 'dist'),
        cacheDir,
      }),
    ],
  },
]

/** @param {string} endpoint @param {boolean} writes @returns {NodeJS.ProcessEnv} */
const environment = (endpoint, writes = false) => ({
  VARVE_REMOTE: `s3://bucket/team?endpoint=${endpoint}`,
  VARVE_TRUSTED_KEYS: keys.publicKey,
  VARVE_REMOTE_MODE: writes ? 'read-write' : 'read',
  VARVE_SIGNING_KEY: writes ? keys.signingKey : '',
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
})

/**
 * Builds in a process of its own.
 * @param {Tool} tool
 * @param {string} machine the directory of its caches
 * @param {NodeJS.ProcessEnv} [remote]
 */
async function build(tool, machine, remote = { VARVE_REMOTE: '' }) {
  const startMs = performance.now()
  const env = { ...process.env, NODE_ENV: 'production', ...remote }
  const { hits, misses, digest } = JSON.parse(
    await run(process.execPath, tool.args(join(home, machine, tool.name)), { env }),
  )
  return { ms: performance.now() - startMs, hits, misses, digest }
}

/** @param {string} machine */
const clear = (machine) => rm(join(home, machine), { recursive: true, force: true })

/** @typedef {Awaited<ReturnType<typeof startServers>>} Servers */
/** @typedef {'cold' | 'warm' | '60 ms' | '5 ms'} Build */

/** In an order of its own in each round, so that none follows the same one each time. @type {readonly Build[]} */
const BUILDS = ['cold', 'warm', '60 ms', '5 ms']

/** @param {Tool} tool @param {Servers} servers */
async function measureBuilds(tool, { origin, near, setRoundTrip }) {
  await tool.write()
  await build(tool, 'publisher', environment(origin, true))
  await build(tool, 'warm')
  /** @type {Record<Build, number[]>} */
  const times = { cold: [], warm: [], '60 ms': [], '5 ms': [] }
  const digests = new Set()
  let missed = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of shuffled(BUILDS, round)) {
      if (name !== 'warm') await clear('fresh')
      const isRemote = name.endsWith('ms')
      if (isRemote) await setRoundTrip(Number.parseInt(name, 10))
      const { ms, misses, digest } = await build(
        tool,
        name === 'warm' ? 'warm' : 'fresh',
        isRemote ? environment(near) : undefined,
      )
      times[name].push(ms)
      digests.add(digest)
      if (name !== 'cold') missed += misses
    }
  }
  process.stdout.write(`${tool.name}: modules missed ${missed}; outputs ${digests.size === 1 ? 'equal' : 'DIFFER'}\n`)
  report('median', times, median)
  // A virtual machine may give free memory to its host. Getting it back costs some builds 0.6 s of system time, and others nothing.
  report('fastest', times, (each) => Math.min(...each))
  if (digests.size > 1) process.exitCode = 1
}

/** @param {string} name @param {Record<Build, number[]>} times @param {(each: readonly number[]) => number} of */
function report(name, times, of) {
  const [cold = 0, warm = 0, far = 0, close = 0] = BUILDS.map((kind) => Math.round(of(times[kind])))
  const ratio = (/** @type {number} */ one, /** @type {number} */ other) => (one / other).toFixed(2)
  process.stdout.write(`  ${name}: cold ${cold} ms, warm ${warm}; fresh machine at 60 ms ${far}, at 5 ms ${close}; `)
  process.stdout.write(`60 ms / warm ${ratio(far, warm)} (goal 1.25), 60 ms / cold ${ratio(far, cold)} (0.40), `)
  process.stdout.write(`5 ms / warm ${ratio(close, warm)} (1.10)\n`)
}

/** @param {string} endpoint */
function counted(endpoint) {
  const store = s3({ bucket: 'bucket', prefix: 'values', endpoint, credentials: CREDENTIALS })
  const counts = { requests: 0 }
  const get = store.get.bind(store)
  /** @type {typeof store.get} */
  store.get = (name, how) => {
    counts.requests++
    return get(name, how)
  }
  return { store, counts }
}

/** @param {Servers} servers */
async function measurePull({ origin, near, setRoundTrip }) {
  const cacheDir = join(home, 'values', 'tool')
  const cache = await openCache({ name: 'tool', dir: cacheDir })
  const space = cache.namespace('values')
  for (let index = 0; index < 5000; index++) space.put(`key ${index}`, randomBytes(4096))
  await cache.close()
  const trusted = { trustedKeys: [keys.publicKey] }
  const writer = openRemote({
    store: counted(origin).store,
    dir: join(home, 'writer'),
    ...trusted,
    mode: 'read-write',
    signingKey: keys.signingKey,
  })
  await push(writer, { caches: [{ name: 'tool', dir: cacheDir }] })
  const { store, counts } = counted(near)
  /** @type {Record<string, number>} */
  const medians = {}
  for (const roundTrip of [60, 0]) {
    await setRoundTrip(roundTrip)
    const times = []
    for (let round = 0; round < 2 * ROUNDS + 1; round++) {
      await clear('reader')
      counts.requests = 0
      const startMs = performance.now()
      await pull(openRemote({ store, dir: join(home, 'reader'), ...trusted }))
      times.push(performance.now() - startMs)
    }
    medians[roundTrip] = median(times)
  }
  const { 60: far = 0, 0: none = 0 } = medians
  process.stdout.write(
    `5,000 x 4 KiB: ${counts.requests} requests; ${Math.round(far)} ms at 60 ms, ${Math.round(none)} without delay: `,
  )
  process.stdout.write(`${((far - none) / 60).toFixed(1)} round trips (goal 6)\n`)
  const reopen = async () => {
    const remote = openRemote({ store, dir: join(home, 'reader'), ...trusted })
    const opened = await openCache({ name: 'tool', dir: join(home, 'reader', 'tool'), remote })
    await opened.close()
  }
  await reopen()
  counts.requests = 0
  await reopen()
  process.stdout.write(`reopening without a change: ${counts.requests} requests (goal 2)\n`)
}

await runMain(async () => {
  await rm(home, { recursive: true, force: true })
  const servers = await startServers(home)
  try {
    printProcessor()
    process.stdout.write(`engine ${options.engine}, medians of ${ROUNDS} rounds\n`)
    const isChosen = (/** @type {string} */ name) => options.only === '' || options.only === name
    if (isChosen('pull')) await measurePull(servers)
    for (const tool of TOOLS.filter(({ name }) => isChosen(name))) await measureBuilds(tool, servers)
    printProcessor()
  } finally {
    servers.stop()
  }
})
