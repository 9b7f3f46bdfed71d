// @ts-check
// `npm run pack`: the packages as the registry gets them, packed in target/packages: the packages for platforms, whose addons
// `npm run build:all` made, then `varve`, which depends on them, then the packages that depend on it.
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeRelease } from './build/embed.mjs'
import { crossAddon, optionalDependencies, platforms, writePlatformPackage } from './build/platforms.mjs'
import { isMain, targetDir } from './root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, step } from './steps.mjs'
import { npm } from './tools.mjs'

const place = join(targetDir, 'packages')

/**
 * Writes a package of this repository into `target`, as users get it.
 * @param {string} name
 * @param {string} target
 */
export async function writePackage(name, target) {
  const parent = dirname(target)
  await mkdir(parent, { recursive: true })
  const tarball = await pack(['--workspace', name], parent)
  await run('tar', ['-x', '-z', '-f', tarball], { cwd: parent })
  await rm(tarball)
  await rm(target, { recursive: true, force: true })
  await rename(join(parent, 'package'), target)
  if (name !== 'varve') return
  const path = join(target, 'package.json')
  const manifest = JSON.parse(await readFile(path, 'utf8'))
  const declared = { ...manifest, optionalDependencies: optionalDependencies(manifest.version) }
  await writeFile(path, `${JSON.stringify(declared, undefined, 2)}\n`)
  writeRelease({ version: manifest.version, platforms: platforms.map(({ name: platform }) => platform) }, join(target, 'generated'))
}

/**
 * The path of the packed file.
 * @param {readonly string[]} what
 * @param {string} folder
 */
async function pack(what, folder) {
  const packed = await npm(['pack', '--json', '--silent', ...what, '--pack-destination', folder])
  const filename = /"filename":\s*"([^"]+)"/.exec(packed)?.[1]
  if (filename === undefined) throw new Error(`npm pack named no file:\n${packed}`)
  return join(folder, filename)
}

if (isMain(import.meta)) {
  await runMain(async () => {
    await setup()
    await rm(place, { recursive: true, force: true })
    /** @type {string[]} */
    const folders = []
    for (const platform of platforms) {
      const folder = join(place, platform.name)
      await step(`@varve/${platform.name}`, () => writePlatformPackage(platform, crossAddon(platform), folder))
      folders.push(folder)
    }
    for (const name of ['varve', '@varve/plugins', '@varve/remote']) {
      const folder = join(place, name.replace('@varve/', ''))
      await step(name, () => writePackage(name, folder))
      folders.push(folder)
    }
    await step('pack', async () => {
      for (const folder of folders) await pack([folder], place)
    })
  })
}
