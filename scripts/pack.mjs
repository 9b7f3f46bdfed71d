// @ts-check
// `npm run release -- --pack`: the packages as the registry gets them, packed in target/packages: the packages for platforms, whose addons
// `npm run build -- --all` made, then `varve`, which depends on them, then the packages that depend on it.
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { removeUnreachable } from './build/declarations.mjs'
import { writeRelease } from './build/embed.mjs'
import {
  crossAddon,
  optionalDependencies,
  platforms,
  repositoryFields,
  writePlatformPackage,
} from './build/platforms.mjs'
import { PACKAGES } from './release/versions.mjs'
import { isMain, targetDir } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, step } from './common/steps.mjs'
import { npm } from './common/tools.mjs'

/** The packages as they are published. */
export const place = join(targetDir, 'packages')

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
  await removeUnreachable(target)
  const path = join(target, 'package.json')
  const manifest = JSON.parse(await readFile(path, 'utf8'))
  const added = repositoryFields(`packages/${name.replace('@varve/', '')}`)
  const declared = name === 'varve' ? { optionalDependencies: optionalDependencies(manifest.version) } : {}
  await writeFile(path, `${JSON.stringify({ ...manifest, ...added, ...declared }, undefined, 2)}\n`)
  if (name !== 'varve') return
  writeRelease(
    { version: manifest.version, platforms: platforms.map(({ name: platform }) => platform) },
    join(target, 'generated'),
  )
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

/**
 * Packs everything that is published into `folder`, in the order of publication: each package after those that it depends on.
 * @param {string} folder
 * @param {readonly { platform: import('./build/platforms.mjs').Platform, addon: string | undefined }[]} addons
 * @param {Readonly<Record<string, unknown>>} [fields] added to every manifest
 */
export async function packAll(folder, addons, fields = {}) {
  await rm(folder, { recursive: true, force: true })
  /** @type {{ manifest: import('./release/versions.mjs').Manifest, tarball: string }[]} */
  const packed = []
  const add = async (/** @type {string} */ target) => {
    const path = join(target, 'package.json')
    const manifest = { ...JSON.parse(await readFile(path, 'utf8')), ...fields }
    await writeFile(path, `${JSON.stringify(manifest, undefined, 2)}\n`)
    packed.push({ manifest, tarball: await pack([target], folder) })
  }
  for (const { platform, addon } of addons) {
    await step(`@varve/${platform.name}`, async () => {
      await writePlatformPackage(platform, addon, join(folder, platform.name))
      await add(join(folder, platform.name))
    })
  }
  for (const name of PACKAGES) {
    await step(name, async () => {
      const target = join(folder, name.replace('@varve/', ''))
      await writePackage(name, target)
      await add(target)
    })
  }
  return packed
}

if (isMain(import.meta)) {
  await runMain(async () => {
    await setup()
    await packAll(
      place,
      platforms.map((platform) => ({ platform, addon: crossAddon(platform) })),
    )
  })
}
