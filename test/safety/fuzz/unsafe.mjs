// @ts-check
// Part `unsafe`: what no compiler checks. Miri runs the table that the handler of SIGBUS reads without a lock (races,
// aliasing, leaks); the address sanitizer runs everything that maps files. Miri cannot run system calls, nor either of
// them Node itself: the callbacks of the addon are bounded by the tests of `npm test` alone. Both tools come with the
// nightly toolchain; where there is none, the part is skipped.
import { CommandFailed, run } from '../../../scripts/steps.mjs'
import { lockedInCi, rustEnv } from '../../../scripts/tools.mjs'

/** @type {readonly { name: string, args: readonly string[], env: NodeJS.ProcessEnv }[]} */
const CHECKS = [
  { name: 'miri', args: ['miri', 'test', '--package=varve-disk', '--lib', 'guard'], env: {} },
  {
    name: 'addresses',
    args: ['test', '--package=varve-disk', '--target=x86_64-unknown-linux-gnu', '--target-dir=target/sanitized', '--lib', '--tests'],
    env: { RUSTFLAGS: '-Zsanitizer=address', ASAN_OPTIONS: 'allow_user_segv_handler=1:handle_sigbus=0' },
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
      const { output, isSound } = await outcome(['+nightly', ...check.args, ...lockedInCi()], { ...env, ...check.env })
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
