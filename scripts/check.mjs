// @ts-check
// `npm run check`: all checks besides the tests. Prints one line per step. All steps run; the output of those that fail is shown
// in full.
import { existsSync } from 'node:fs'
import { packageFolders } from './build/packages.mjs'
import { checkConsumer } from './check/consumer.mjs'
import { at } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, stepEach } from './common/steps.mjs'
import { checkCrates, checkPackages } from './check/advisories.mjs'
import { checkLicences } from './check/licences.mjs'
import { checkNotices } from './check/notices.mjs'
import { cargo, rustEnv, toolPath, tsc } from './common/tools.mjs'
import { checkUnplanted } from './check/unplanted.mjs'

const WASM = ['--target', 'wasm32-unknown-unknown']
/** Each block of `unsafe` states what it relies on. */
const DENY = ['--', '--deny', 'warnings', '--deny', 'clippy::undocumented_unsafe_blocks']

/** Libraries for JavaScript only: clippy would report their exports as dead code in a test build. */
const BINDINGS = ['varve-node', 'varve-wasm']

/** Their types exist once `npm run bench -- --rivals` has installed them. */
const RIVALS = ['bench/rivals/node'].filter((folder) => existsSync(at(`${folder}/node_modules`)))

/** @param {readonly string[]} names */
const without = (names) => names.flatMap((name) => ['--exclude', name])

/** @param {string} name @param {readonly string[]} args */
const tool = (name, args) => run(process.execPath, [toolPath(name), ...args])

/** @type {readonly (readonly [string, () => Promise<unknown>])[]} */
const STEPS = [
  ['cargo fmt', () => run('cargo', ['fmt', '--all', '--check', '--', '--color=never'], { env: rustEnv() })],
  [
    'cargo clippy',
    () => cargo('clippy', ['--workspace', ...without(BINDINGS), '--all-targets', '--all-features', ...DENY]),
  ],
  ['cargo clippy, addon', () => cargo('clippy', ['--package', 'varve-node', '--all-features', ...DENY])],
  [
    'cargo clippy, WebAssembly',
    () => cargo('clippy', ['--package', 'varve-core', '--package', 'varve-wasm', ...WASM, ...DENY]),
  ],
  ['tidy', () => run(process.execPath, [at('scripts/tidy.mjs')])],
  ['tsc: packages', () => tsc(['--build'])],
  ['tsc: tests', () => tsc(['--project', 'test'])],
  ['tsc: safety', () => tsc(['--project', 'test/safety'])],
  ['tsc: suites', () => tsc(['--project', 'test/suites'])],
  ['tsc: scripts', () => tsc(['--project', 'scripts'])],
  ['tsc: bench', () => tsc(['--project', 'bench'])],
  ...RIVALS.map((folder) => /** @type {const} */ (['tsc: rivals', () => tsc(['--project', folder])])),
  ['oxfmt', () => tool('oxfmt', ['--check', '.'])],
  ['oxlint', () => tool('oxlint', ['--deny-warnings'])],
  ...packageFolders.map(
    (folder) => /** @type {const} */ ([`publint ${folder}`, () => tool('publint', ['--strict', folder])]),
  ),
  ['licences and sources', checkLicences],
  ['third-party notices', checkNotices],
  ['advisories: crates', checkCrates],
  ['advisories: npm', checkPackages],
  ['no planted faults in the build', checkUnplanted],
  ['packed packages, as users install them', checkConsumer],
]

await runMain(async () => {
  await setup()
  await stepEach(
    'checks',
    STEPS,
    ([name]) => name,
    ([, work]) => work(),
  )
})
