// @ts-check
// The root of the repository, and paths below it.
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** @param {string} path relative to the root of the repository */
export const at = (path) => join(root, path)

/** The output directory of cargo. */
export const targetDir = process.env.CARGO_TARGET_DIR ?? at('target')

/**
 * Whether node was started with this module.
 * @param {ImportMeta} meta
 */
export function isMain(meta) {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === fileURLToPath(meta.url)
}
