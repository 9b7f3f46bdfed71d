// @ts-check
// Publishes packed packages in their order. A package whose version the registry already has is skipped, so a release that stopped halfway
// is completed by running it again.
import { npm } from '../common/tools.mjs'

/** @typedef {{ manifest: import('./versions.mjs').Manifest, tarball: string }} Packed */

/**
 * The number of packages that it published.
 * @param {readonly Packed[]} packages
 * @param {string} registry
 * @param {readonly string[]} options of `npm publish`
 */
export async function publish(packages, registry, options) {
  let published = 0
  for (const {
    manifest: { name, version },
    tarball,
  } of packages) {
    if (await isPublished(name, version, registry)) continue
    const tag = version.includes('-') ? 'next' : 'latest'
    await npm(['publish', tarball, `--registry=${registry}`, '--access=public', `--tag=${tag}`, ...options])
    published++
  }
  return published
}

/** @param {string} name @param {string} version @param {string} registry */
async function isPublished(name, version, registry) {
  const response = await fetch(new URL(name.replace('/', '%2f'), registry))
  if (response.status === 404) return false
  if (!response.ok) throw new Error(`${registry} answered ${response.status} for ${name}`)
  /** @type {{ versions?: Record<string, unknown> }} */
  const { versions = {} } = JSON.parse(await response.text())
  return versions[version] !== undefined
}
