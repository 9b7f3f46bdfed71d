// @ts-check
// Part `unsafe`: what no compiler checks. Miri runs the table that the handler of SIGBUS reads without a lock (races,
// aliasing, leaks); the address sanitizer runs everything that maps files, the thread sanitizer the same, with the
// standard library rebuilt, and the engine with threads that share a store or a folder. Miri cannot run system calls, nor
// any of them Node itself: the callbacks of the addon are bounded by the tests of `npm test` alone. All come with the
// nightly toolchain; where there is none, the part is skipped. Tried: with the next table of the handler published by a
// relaxed store instead of an ordered one, `races` names the race.
import { CommandFailed, run } from '../../../scripts/steps.mjs'
import { LOCKED, rustEnv } from '../../../scripts/tools.mjs'

const SANITIZED = ['--target=x86_64-unknown-linux-gnu', '--lib', '--tests']
const RACED = ['-Zbuild-std', ...SANITIZED, '--target-dir=target/raced']

/** `tests`: which of them. @type {readonly { name: string, args: readonly string[], tests: readonly string[], env: NodeJS.ProcessEnv }[]} */
const CHECKS = [
  { name: 'miri', args: ['miri', 'test', '--package=varve-disk', '--lib'], tests: ['guard'], env: {} },
  {
    name: 'addresses',
    args: ['test', '--package=varve-disk', ...SANITIZED, '--target-dir=target/sanitized'],
    tests: [],
    env: { RUSTFLAGS: '-Zsanitizer=address', ASAN_OPTIONS: 'allow_user_segv_handler=1:handle_sigbus=0' },
  },
  {
    name: 'races',
    args: ['test', '--package=varve-disk', ...RACED],
    tests: ['--skip=a_foreign_fault_still_kills'], // the sanitizer has a handler of its own for faults
    env: { RUSTFLAGS: '-Zsanitizer=thread' },
  },
  {
    name: 'races of writers',
    args: ['test', '--package=varve-core', '--features=sim', ...RACED],
    tests: ['writers::', 'races::'],
    env: { RUSTFLAGS: '-Zsanitizer=thread' },
  },
]

/** @type {import('../suite.mjs').Part} */
export const unsafeCode = {
  name: 'unsafe',
  run: async ({ replay, say }) => {
    const env = rustEnv()
    const skipped = await whyNot(env)
    if (skipped !== undefined) return { figures: {}, violations: [], skipped }
    const violations = []
    let tests = 0
    for (const check of CHECKS.filter(({ name }) => replay === undefined || replay === name)) {
      say(check.name)
      const { output, isSound } = await outcome(['+nightly', ...check.args, LOCKED, '--', ...check.tests], { ...env, ...check.env })
      tests += [...output.matchAll(/test result: ok\. (\d+) passed/g)].reduce((sum, [, count]) => sum + Number(count), 0)
      if (!isSound) violations.push({ what: output.slice(-2000), replay: check.name })
    }
    return { figures: { tests }, goals: { tests: { min: 10 } }, violations }
  },
}

/** @param {readonly string[]} args @param {NodeJS.ProcessEnv} env */
async function outcome(args, env) {
  try {
    return { output: await run('cargo', args, { env }), isSound: true }
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    return { output: error.output, isSound: false }
  }
}

/** Why it cannot run here; adds the components of a nightly toolchain that is there. @param {NodeJS.ProcessEnv} env */
async function whyNot(env) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the sanitizer is set up for Linux on x86-64'
  const toolchains = await run('rustup', ['toolchain', 'list'], { env }).catch(() => '')
  if (!toolchains.includes('nightly')) return 'no nightly toolchain: rustup toolchain install nightly'
  const added = run('rustup', ['+nightly', 'component', 'add', 'miri', 'rust-src'], { env })
  return added.then(() => undefined, () => 'the nightly toolchain has no Miri of its day: rustup update nightly')
}
