// @ts-check
// `npm run programs`: installs what `scripts/programs/installed.mjs` lists and is missing, from Debian or Ubuntu, as root or through
// sudo in continuous integration. Elsewhere it prints what to install: it changes no developer's system.
import { env, getuid } from 'node:process'
import { pathOf, PROGRAMS } from './programs/installed.mjs'
import { run, runMain, Skipped, step } from './steps.mjs'

const APT = ['apt-get', '--quiet', '--option', 'DPkg::Lock::Timeout=300']

/** @param {readonly string[]} packages */
async function install(packages) {
  const isRoot = getuid?.() === 0
  const hasApt = await run('apt-get', ['--version']).then(() => true, () => false)
  if (!hasApt || (!isRoot && env['CI'] !== 'true')) {
    throw new Skipped(`install ${packages.join(', ')}; on Debian: apt-get install ${packages.join(' ')}`)
  }
  const [program = '', ...args] = isRoot ? APT : ['sudo', '--non-interactive', ...APT]
  await run(program, [...args, 'update'])
  await run(program, [...args, 'install', '--yes', '--no-install-recommends', ...packages], { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } })
}

await runMain(async () => {
  const names = /** @type {import('./programs/installed.mjs').Program[]} */ (Object.keys(PROGRAMS))
  const missing = names.filter((name) => pathOf(name) === undefined)
  const name = missing.length === 0 ? 'programs: all are installed' : `programs: ${missing.join(', ')}`
  await step(name, () => (missing.length === 0 ? undefined : install(missing))).catch((error) => {
    if (!(error instanceof Skipped)) throw error
    process.stderr.write(`    ${error.message}\n`)
  })
})
