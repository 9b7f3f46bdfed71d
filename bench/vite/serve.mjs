// @ts-check
// `node bench/vite/serve.mjs`: the first full load of a page of 2,000 modules in headless Chromium after Vite's development server was
// started again: without Varve, with an empty cache and with a full one. Each server is a process of its own and each load has an empty
// browser cache; Vite's own cache, node_modules/.vite, is full in all of them. Needs `npm run setup` and Chromium.
//
//   --rounds <n>     the number of rounds (default 5; a round takes about a minute)
//   --modules <n>    the number of modules (default 2,000)
//   --svg            draws docs/images/serve.svg
//   --profile <dir>  writes a CPU profile of each server there
//
// stdout: one JSON object per line, medians over the rounds. stderr: progress, and medians of the ratios within a round.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { startBrowser } from '../../scripts/common/browser.mjs'
import { at } from '../../scripts/common/root.mjs'
import { runMain } from '../../scripts/common/steps.mjs'
import { bars } from '../bars.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'
import { ENTRY, writeApplication } from './application.mjs'

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {{ loadMs: number, startMs: number, requests: number } & import('./server.mjs').Served} Sample */
/** @typedef {'no cache' | 'cold' | 'warm'} SubjectName */

const SUBJECTS = /** @type {const} */ (['no cache', 'cold', 'warm'])
const METRICS = /** @type {const} */ (['loadMs', 'startMs', 'cpuMs'])
const PACKAGES = ['vue', 'react']
const LOAD_MS_MAX = 1_800_000

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    modules: { type: 'string', default: '2000' },
    svg: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
})

/** @param {string} text */
const log = (text) => void process.stderr.write(`${text}\n`)

/**
 * The application with React components, its page, and the packages that it imports.
 * @param {string} folder
 */
async function writePage(folder) {
  await mkdir(join(folder, 'node_modules'), { recursive: true })
  await writeApplication(folder, Number(options.modules), 'jsx')
  await writeFile(
    join(folder, 'index.html'),
    `<!doctype html>\n<title>application</title>\n<script type="module" src="/${ENTRY}"></script>\n`,
  )
  for (const name of PACKAGES) await symlink(at(`node_modules/${name}`), join(folder, 'node_modules', name))
}

/**
 * Starts a server, loads the page once, and closes the server.
 * @param {Browser} browser
 * @param {string} home
 * @param {SubjectName} subject
 * @returns {Promise<Sample>}
 */
async function loadOnce(browser, home, subject) {
  const order = { isCached: subject !== 'no cache', folder: join(home, 'application'), cacheDir: join(home, 'cache') }
  const { profile } = options
  const execArgv =
    profile === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`, `--cpu-prof-name=${subject}.cpuprofile`]
  const startedMs = performance.now()
  const server = fork(at('bench/vite/server.mjs'), [JSON.stringify(order)], {
    execArgv,
    env: { ...process.env, NODE_ENV: 'development' },
  })
  const [address] = await once(server, 'message')
  const startMs = performance.now() - startedMs
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    /** @type {string[]} */
    const failures = []
    let requests = 0
    page.on('pageerror', ({ message }) => void failures.push(message))
    page.on('response', (response) => {
      requests += 1
      if (response.status() >= 400 && !response.url().endsWith('/favicon.ico'))
        failures.push(`${response.status()} ${response.url()}`)
    })
    const navigatedMs = performance.now()
    await page.goto(address, { waitUntil: 'load', timeout: LOAD_MS_MAX })
    const loadMs = performance.now() - navigatedMs
    if (failures.length > 0 || requests < Number(options.modules))
      throw new Error(`${requests} files: ${failures.slice(0, 3).join('; ')}`)
    const served = once(server, 'message')
    server.send('close')
    const ended = once(server, 'exit')
    const [counts] = await served
    await ended
    return { loadMs, startMs, requests, ...counts }
  } finally {
    await context.close()
    server.kill()
  }
}

/**
 * One load of each kind. In every other round the first two change places, so that neither always follows the same load.
 * @param {Browser} browser
 * @param {string} home
 * @param {number} round
 */
async function loadRound(browser, home, round) {
  await rm(join(home, 'cache'), { recursive: true, force: true })
  /** @type {Partial<Record<SubjectName, Sample>>} */
  const samples = {}
  for (const subject of round % 2 === 0 ? SUBJECTS : /** @type {const} */ (['cold', 'no cache', 'warm'])) {
    samples[subject] = await loadOnce(browser, home, subject)
  }
  return /** @type {Record<SubjectName, Sample>} */ (samples)
}

/** @param {readonly Record<SubjectName, Sample>[]} rounds */
function print(rounds) {
  for (const name of SUBJECTS) {
    for (const metric of METRICS) {
      const value = Number(median(rounds.map((round) => round[name][metric])).toPrecision(4))
      process.stdout.write(
        `${JSON.stringify({ id: `serve/modules_${options.modules}`, name, metric, value, rounds: rounds.length })}\n`,
      )
    }
  }
  for (const metric of METRICS) {
    const ratio = (/** @type {SubjectName} */ name) =>
      median(rounds.map((round) => round[name][metric] / round['no cache'][metric])).toFixed(3)
    log(`  ${metric}: warm / no cache = ${ratio('warm')}, cold / no cache = ${ratio('cold')}`)
  }
  const { warm } = rounds.at(-1) ?? {}
  log(`  warm: ${warm?.hits} hits, ${warm?.misses} misses, ${warm?.requests} requests`)
}

/** @param {readonly Record<SubjectName, Sample>[]} rounds */
async function draw(rounds) {
  const secondsOf = (/** @type {SubjectName} */ name) => median(rounds.map((round) => round[name].loadMs)) / 1000
  const title = `Vite's server: seconds until a page of ${Number(options.modules).toLocaleString('en')} modules is loaded`
  await writeFile(
    at('docs/images/serve.svg'),
    bars(title, [
      { way: 'without', name: 'without Varve', seconds: secondsOf('no cache') },
      { way: 'cold', name: 'first start with Varve', seconds: secondsOf('cold') },
      { way: 'warm', name: 'next starts', seconds: secondsOf('warm') },
    ]),
  )
}

await runMain(async () => {
  printProcessor()
  const home = await mkdtemp(join(tmpdir(), 'varve-bench-serve-'))
  const browser = await startBrowser()
  try {
    await writePage(join(home, 'application'))
    // Fills Vite's own caches.
    for (const subject of SUBJECTS.slice(0, 2)) await loadOnce(browser, home, subject)
    const rounds = []
    for (let round = 0; round < Number(options.rounds); round++) {
      const samples = await loadRound(browser, home, round)
      rounds.push(samples)
      const times = Object.entries(samples).map(([name, { loadMs }]) => `${name} ${(loadMs / 1000).toFixed(2)} s`)
      log(`round ${round + 1} of ${options.rounds}: ${times.join(', ')}`)
    }
    print(rounds)
    if (options.svg) await draw(rounds)
  } finally {
    await browser.close()
    await rm(home, { recursive: true, force: true })
  }
})
