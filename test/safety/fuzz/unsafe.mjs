// @ts-check
// Part `unsafe`: the unsafe code, which the compiler does not check.
// - Miri runs the table that the handler of SIGBUS reads without a lock: races, aliasing, leaks.
// - The address sanitizer and the thread sanitizer run all code that maps files. The thread sanitizer also runs the engine
//   with threads that share a store or a folder, with a rebuilt standard library.
//
// Miri cannot run system calls, and none of them can run Node, so only the tests of `npm test` cover the callbacks of the
// addon. The tools need the nightly toolchain; without it the part is skipped. Proof that it can fail: if the handler's next
// table is published by a relaxed store, `races` reports the race.
import { CommandFailed, run } from '../../../scripts/common/steps.mjs'
import { LOCKED, rustEnv } from '../../../scripts/common/tools.mjs'

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
    tests: ['--skip=a_fault_outside_of_varves_maps_still_kills_the_process'], // the sanitizer has a handler of its own for faults
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
      const { output, isSound } = await outcome(['+nightly', ...check.args, LOCKED, '--', ...check.tests], {
        ...env,
        ...check.env,
      })
      tests += [...output.matchAll(/test result: ok\. (\d+) passed/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      )
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
  return added.then(
    () => undefined,
    () => 'the nightly toolchain has no Miri of its day: rustup update nightly',
  )
}
