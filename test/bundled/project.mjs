// @ts-check
// A project with the tool of `tool.mjs`, and Varve in its node_modules as the registry has it.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addonPath, hostPlatform } from '../../scripts/build/native.mjs'
import { writeRelease } from '../../scripts/build/embed.mjs'
import { at } from '../../scripts/common/root.mjs'

const PACKAGE = at('packages/varve')
/** @type {{ version: string }} */
const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))

export const PLATFORM_PACKAGE = `@varve/${hostPlatform}`

/** Writes the project, without the package for this platform. @param {string} folder @returns {string} the entry of the tool */
export function writeProject(folder) {
  const varve = join(folder, 'node_modules/varve')
  for (const part of ['dist', 'generated', 'package.json'])
    cpSync(join(PACKAGE, part), join(varve, part), { recursive: true })
  writeRelease({ version, platforms: [hostPlatform] }, join(varve, 'generated'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  copyFileSync(at('test/bundled/tool.mjs'), join(folder, 'tool.mjs'))
  return join(folder, 'tool.mjs')
}

/** Copies the package for this platform into `node_modules` of a directory. @param {string} folder */
export function addPlatformPackage(folder) {
  const place = join(folder, 'node_modules', PLATFORM_PACKAGE)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: PLATFORM_PACKAGE, version, main: 'varve.node' }))
  copyFileSync(at(addonPath), join(place, 'varve.node'))
}
