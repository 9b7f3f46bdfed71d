// @ts-check
// The directory of one trial: an application of some size, and for each subject its own directories for cache and output.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from '../../scripts/common/root.mjs'
import { run } from '../../scripts/common/steps.mjs'
import { changeModule, writeApplication } from './application.mjs'

/** @typedef {import('./build.mjs').SubjectName} SubjectName */
/** @typedef {import('./build.mjs').Built & { bytes: number, growth?: number }} Sample */

/** The subjects of a round, in order. */
export const SUBJECTS = /** @type {const} */ (['webpack filesystem', 'varve', 'no cache'])
export const CACHES = /** @type {const} */ (['webpack filesystem', 'varve'])

/** An application and its caches, in a temporary directory. */
export class Site {
  /**
   * @param {string} home
   * @param {number} modules
   */
  constructor(home, modules) {
    this.home = home
    this.modules = modules
    this.folder = join(home, 'application')
    /** @type {string | undefined} the digest of the output of the current sources */
    this.expected = undefined
  }

  /** @param {number} modules */
  static async make(modules) {
    const site = new Site(await mkdtemp(join(tmpdir(), 'varve-bench-webpack-')), modules)
    await writeApplication(site.folder, modules)
    return site
  }

  /**
   * Changes one module, a different one in each revision.
   * @param {number} revision
   */
  async change(revision) {
    this.expected = undefined
    await changeModule(this.folder, this.modules, (revision * 131 + 7) % this.modules, revision)
  }

  /**
   * Runs one build for each of the subjects. All builds of the same sources must have the same output.
   * @template {SubjectName} Name
   * @param {readonly Name[]} subjects
   * @param {string} [caches] the set of caches
   * @returns {Promise<Record<Name, Sample>>}
   */
  async round(subjects, caches = 'caches') {
    /** @type {Partial<Record<SubjectName, Sample>>} */
    const samples = {}
    for (const subject of subjects) samples[subject] = await this.build(subject, caches)
    for (const [subject, { digest }] of Object.entries(samples)) {
      this.expected ??= digest
      if (digest !== this.expected)
        throw new Error(`the output of ${subject} differs from that of other builds of the same sources`)
    }
    return /** @type {Record<Name, Sample>} */ (samples)
  }

  /**
   * @param {SubjectName} subject
   * @param {string} caches
   * @returns {Promise<Sample>}
   */
  async build(subject, caches) {
    const name = subject.replace(' ', '-')
    const cacheDir = join(this.home, caches, name)
    const order = { subject, folder: this.folder, output: join(this.home, 'output', name), cacheDir }
    const built = JSON.parse(await run(process.execPath, [at('bench/webpack/build.mjs'), JSON.stringify(order)]))
    return { ...built, bytes: await bytesBelow(cacheDir) }
  }

  /** @param {string} [caches] the set of caches to remove */
  async removeCaches(caches = 'caches') {
    await rm(join(this.home, caches), { recursive: true, force: true })
  }

  async remove() {
    await rm(this.home, { recursive: true, force: true })
  }
}

/** @param {string} folder */
async function bytesBelow(folder) {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = names.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}
