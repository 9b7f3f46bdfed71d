// @ts-check
/**
 * Writes the application for the builds of this bench: features of 20 modules each. The first tenth is loaded at the start and
 * shared by the others, which are loaded on demand. It is deterministic: the same count gives the same bytes. Modules have the
 * size (about 5 KB) and the syntax of hand-written ones. They import no packages, so the directory may be anywhere.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { classText, Dice, functionText } from './text.mjs'

const FEATURE_SIZE = 20
/** The entry of a build, relative to the directory. */
export const ENTRY = './src/main.js'

/**
 * Writes `src/` below `folder`, and removes an earlier one.
 * @param {string} folder
 * @param {number} modules
 */
export async function writeApplication(folder, modules) {
  const source = join(folder, 'src')
  await rm(source, { recursive: true, force: true })
  const features = Math.ceil(modules / FEATURE_SIZE)
  for (let feature = 0; feature < features; feature++)
    await mkdir(join(source, featureName(feature)), { recursive: true })
  for (let index = 0; index < modules; index++) await changeModule(folder, modules, index, 0)
  for (let feature = 0; feature < features; feature++) {
    const members = Array.from(
      { length: Math.min(FEATURE_SIZE, modules - feature * FEATURE_SIZE) },
      (_, place) => feature * FEATURE_SIZE + place,
    )
    const lines = members.map((index) => `export { summary as summary${index} } from './${fileName(index)}'`)
    await writeFile(join(source, featureName(feature), 'index.js'), `${lines.join('\n')}\n`)
  }
  await writeFile(join(source, 'main.js'), mainText(features, Math.ceil(sharedOf(modules) / FEATURE_SIZE)))
  await writeFile(join(folder, 'package.json'), '{ "name": "application", "version": "1.0.0", "sideEffects": true }\n')
}

/**
 * Writes one module. Each revision has a different text that reaches the bundle.
 * @param {string} folder
 * @param {number} modules of the whole application
 * @param {number} index
 * @param {number} revision
 */
export async function changeModule(folder, modules, index, revision) {
  await writeFile(
    join(folder, 'src', featureOf(index), fileName(index)),
    moduleText(index, importsOf(index, modules), revision),
  )
}

/**
 * @param {number} features
 * @param {number} shared features that are loaded at the start
 */
function mainText(features, shared) {
  const names = Array.from({ length: features }, (_, feature) => featureName(feature))
  const imports = names
    .slice(0, shared)
    .map((name, feature) => `import * as shared${feature} from './${name}/index.js'`)
  const loads = names.slice(shared).map((name) => `  () => import('./${name}/index.js'),`)
  return `${imports.join('\n')}

const shared = [${imports.map((_, feature) => `shared${feature}`).join(', ')}]
const features = [
${loads.join('\n')}
]

export async function start() {
  const loaded = await Promise.all(features.map((load) => load()))
  return [...shared, ...loaded].flatMap((feature) => Object.values(feature)).map((summary) => summary())
}

start().then((summaries) => console.log(summaries.length))
`
}

/**
 * The number of modules that all others may import, which are the first ones: a tenth, in whole features.
 * @param {number} modules
 */
const sharedOf = (modules) => FEATURE_SIZE * Math.ceil(modules / 10 / FEATURE_SIZE)

/** @param {number} feature */
const featureName = (feature) => `feature-${String(feature).padStart(3, '0')}`

/** @param {number} index */
const featureOf = (index) => featureName(Math.floor(index / FEATURE_SIZE))

/** @param {number} index */
const fileName = (index) => `module-${String(index).padStart(4, '0')}.js`

/**
 * @param {number} index
 * @param {readonly number[]} imports
 * @param {number} revision
 */
function moduleText(index, imports, revision) {
  const dice = new Dice(index)
  const lines = imports.map(
    (other) => `import { summary as summary${other}, total as total${other} } from '${pathFrom(index, other)}'`,
  )
  const functions = Array.from({ length: 3 + (index % 5) }, (_, part) => functionText(dice, `${dice.name()}${part}`))
  const sums = imports.map((other) => `total${other}(limit - 1)`)
  return `${lines.join('\n')}

const revision = ${revision}
const defaults = { name: '${dice.text()}', weight: ${dice.number(1000)}, tags: ['${dice.word()}', '${dice.word()}'] }

${classText(dice, `Store${index}`)}
${functions.join('\n')}
export function total(limit = 3) {
  return limit <= 0 ? revision : [${['defaults.weight', ...sums].join(', ')}].reduce((sum, one) => sum + (one ?? 0), 0)
}

function summary() {
  const { name, ...rest } = { ...defaults, revision }
  return [name, rest, ${imports.map((other) => `summary${other}.name`).join(', ')}]
}
`
}

/**
 * Up to two modules of the same feature and two shared ones.
 * @param {number} index
 * @param {number} modules
 */
function importsOf(index, modules) {
  const first = index - (index % FEATURE_SIZE)
  const near = [index - 1, index - 3].filter((other) => other >= first)
  const shared = Math.min(first, sharedOf(modules))
  const far = shared === 0 ? [] : [(index * 7919) % shared, (index * 104_729) % shared]
  return [...new Set([...near, ...far])]
}

/**
 * @param {number} from
 * @param {number} other
 */
function pathFrom(from, other) {
  return featureOf(from) === featureOf(other) ? `./${fileName(other)}` : `../${featureOf(other)}/${fileName(other)}`
}
