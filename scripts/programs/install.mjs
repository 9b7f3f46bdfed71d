// @ts-check
// Installs packages of Debian or Ubuntu: as root, and in continuous integration through sudo. It changes no other system, and names what to
// install there.
import { env, getuid } from 'node:process'
import { run, Skipped } from '../common/steps.mjs'

const APT = ['apt-get', '--quiet', '--option', 'DPkg::Lock::Timeout=300']

/** Throws Skipped if this user may not install. @param {readonly string[]} packages */
export async function installPackages(packages) {
  const isRoot = getuid?.() === 0
  const hasApt = await run('apt-get', ['--version']).then(
    () => true,
    () => false,
  )
  if (!hasApt || (!isRoot && env['CI'] !== 'true')) {
    throw new Skipped(`install ${packages.join(', ')}; on Debian: apt-get install ${packages.join(' ')}`)
  }
  const [program = '', ...args] = isRoot ? APT : ['sudo', '--non-interactive', ...APT]
  await run(program, [...args, 'update'])
  await run(program, [...args, 'install', '--yes', '--no-install-recommends', ...packages], {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}
