// @ts-check
// `npm run build -- --all`: builds the addon for every platform on this machine, with Zig as linker and C library, into
// target/platforms, and inspects each. `-- --only linux-arm64-musl` builds one; `-- --inspect` only inspects. Needs rustup and
// Python 3; it downloads the rest into the toolchain and target/cross.
import { existsSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { inspect } from './build/inspect.mjs'
import { LINKING, emptyNode } from './build/native.mjs'
import { crossAddon, platforms } from './build/platforms.mjs'
import { isMain, root, targetDir } from './common/root.mjs'
import { run, runMain, step } from './common/steps.mjs'
import { LOCKED, rustEnv } from './common/tools.mjs'

const ZIG = ['cargo-zigbuild==0.24.0', 'ziglang==0.15.2']
const tools = join(targetDir, 'cross')

/**
 * Files of source in panics and names of libraries are without directories of this machine. The compiler names the source of the standard
 * library if it is installed.
 * @param {string} os
 */
async function rustFlags(os) {
  const registry = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'registry', 'src')
  const library = join((await run('rustc', ['--print', 'sysroot'], { env: rustEnv() })).trim(), 'lib/rustlib/src/rust')
  const flags = [
    [registry, 'registry'],
    [root, 'varve'],
    [library, 'rust'],
  ].map(([path, name]) => `--remap-path-prefix=${path}=${name}`)
  if (os === 'linux') flags.push('-Ctarget-feature=-crt-static') // without it, musl has no shared libraries
  if (os === 'darwin') flags.push('-Clink-arg=-Wl,-install_name,@rpath/varve.node')
  return flags.join('\x1f')
}

async function installTools() {
  if (!existsSync(join(tools, 'bin', 'cargo-zigbuild'))) {
    await run('python3', ['-m', 'venv', tools])
    await run(join(tools, 'bin', 'pip'), ['install', '--quiet', ...ZIG])
  }
  const env = rustEnv()
  await run('rustup', ['target', 'add', ...platforms.map(({ target }) => target)], { env })
  await run('rustup', ['component', 'add', 'llvm-tools'], { env })
}

/** @param {import('./build/platforms.mjs').Platform} platform */
async function build(platform) {
  const { os, target, floor } = platform
  const isMac = os === 'darwin'
  const versioned = floor === undefined || isMac ? target : `${target}.${floor}`
  const env = {
    ...rustEnv(),
    PATH: `${join(tools, 'bin')}${delimiter}${rustEnv().PATH}`,
    CARGO_ENCODED_RUSTFLAGS: await rustFlags(os),
    ...(os === 'win32' ? await emptyNode(tools) : {}),
    ...(isMac ? { MACOSX_DEPLOYMENT_TARGET: floor } : {}),
  }
  await run(
    'cargo-zigbuild',
    ['rustc', LOCKED, '--release', '--package=varve-node', `--target=${versioned}`, ...LINKING],
    { env },
  )
  const library = os === 'win32' ? 'varve_node.dll' : `libvarve_node.${isMac ? 'dylib' : 'so'}`
  const addon = crossAddon(platform)
  await mkdir(dirname(addon), { recursive: true })
  await copyFile(join(targetDir, target, 'release', library), addon)
}

if (isMain(import.meta)) {
  const { values: options } = parseArgs({ options: { inspect: { type: 'boolean' }, only: { type: 'string' } } })
  const chosen = platforms.filter(({ name }) => options.only === undefined || options.only === name)
  if (chosen.length === 0) throw new Error(`--only takes one of ${platforms.map(({ name }) => name).join(', ')}`)
  await runMain(async () => {
    await step('Zig, targets, llvm-tools', installTools)
    for (const platform of chosen) {
      if (options.inspect !== true) await step(`build ${platform.name}`, () => build(platform))
      await step(`inspect ${platform.name}`, () => inspect(platform, crossAddon(platform)))
    }
  })
}
