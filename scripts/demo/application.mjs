// @ts-check
/**
 * Writes the application of the demo: some hundred own modules that use real packages from node_modules. It is deterministic: the
 * same size gives the same bytes, so that every cache gets the same input. Own modules form layers, each importing from the layer
 * below, so that a changed file has few dependents.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * @typedef {object} ApplicationSize
 * @property {number} ownModules own source modules, without the modules of packages
 * @property {(keyof typeof PACKAGES)[]} packages
 */

/** The import of a package in one own module and its use; `n` varies the choice. */
const PACKAGES = {
  lodash: (/** @type {number} */ n) => ({
    line: `import { ${pick(['chunk', 'groupBy', 'mapValues', 'debounce', 'merge', 'uniqBy'], n)} as lodash } from 'lodash-es'`,
    use: 'typeof lodash',
  }),
  rxjs: (/** @type {number} */ n) => ({
    line: `import { of, ${pick(['map', 'filter', 'scan', 'take', 'tap', 'switchMap'], n)} as operator } from 'rxjs'`,
    use: 'of(typeof operator)',
  }),
  dates: (/** @type {number} */ n) => ({
    line: `import { ${pick(['addDays', 'format', 'parseISO', 'differenceInDays', 'startOfWeek'], n)} as dates } from 'date-fns'`,
    use: 'typeof dates',
  }),
  d3: (/** @type {number} */ n) => ({
    line: `import { ${pick(['scaleLinear', 'line', 'extent', 'hierarchy', 'zoom', 'geoPath'], n)} as chart } from 'd3'`,
    use: 'typeof chart',
  }),
  three: (/** @type {number} */ n) => ({
    line: `import { ${pick(['Vector3', 'Mesh', 'BoxGeometry', 'Scene', 'Raycaster', 'Color'], n)} as Shape } from 'three/src/Three.js'`,
    use: 'new Shape()',
  }),
  antd: (/** @type {number} */ n) => ({
    line: `import { ${pick(['Button', 'Table', 'Form', 'Modal', 'DatePicker', 'Tree'], n)} as Widget } from 'antd/es/index.js'`,
    use: 'createElement(Widget)',
  }),
}

/** @type {Record<'full' | 'quick', ApplicationSize>} */
export const SIZES = {
  full: { ownModules: 580, packages: ['antd', 'three', 'lodash', 'rxjs', 'dates', 'd3'] },
  quick: { ownModules: 240, packages: ['rxjs', 'dates'] },
}

const LAYER_SIZE = 20

/**
 * Writes `src/` below `directory`, and removes an earlier one.
 * @param {string} directory
 * @param {ApplicationSize} size
 */
export async function writeApplication(directory, size) {
  const source = join(directory, 'src')
  await rm(source, { recursive: true, force: true })
  await mkdir(source, { recursive: true })
  for (let index = 0; index < size.ownModules; index++) {
    await writeFile(join(source, moduleName(index)), moduleText(index, size))
  }
  const top = Array.from({ length: Math.min(LAYER_SIZE, size.ownModules) }, (_, back) => size.ownModules - 1 - back)
  const imports = top.map((index) => `import { value as value${index} } from './${moduleName(index)}'`)
  const values = top.map((index) => `value${index}`).join(', ')
  const main = `${imports.join('\n')}\n\nconsole.log(JSON.stringify([${values}]).length)\n`
  await writeFile(join(source, 'main.js'), main)
}

/**
 * Changes one own module of a middle layer in a way that reaches the bundle.
 * @param {string} directory
 * @param {ApplicationSize} size
 * @param {number} revision
 */
export async function changeOneModule(directory, size, revision) {
  const file = join(directory, 'src', moduleName(Math.floor(size.ownModules / 2)))
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/const revision = \d+/, `const revision = ${revision}`))
}

/** @param {number} index */
function moduleName(index) {
  return `module-${String(index).padStart(4, '0')}.js`
}

/**
 * @param {number} index
 * @param {ApplicationSize} size
 */
function moduleText(index, size) {
  const { line, use } = PACKAGES[pick(size.packages, index)](Math.floor(index / size.packages.length))
  const below = index < LAYER_SIZE ? [] : [index - LAYER_SIZE, index - LAYER_SIZE - (index % 7) + 3]
  const parents = [...new Set(below)].filter((parent) => parent >= 0 && parent < index)
  return `import { createElement } from 'react'
${line}
${parents.map((parent) => `import { value as value${parent}, Model as Model${parent} } from './${moduleName(parent)}'`).join('\n')}

const revision = 0

/** Model ${index}: classes, spread, optional chaining and async functions give the transpiler work. */
export class Model {
  #fields = new Map([['index', ${index}]])
  static instances = 0

  constructor({ label = 'model-${index}', ...rest } = {}) {
    Model.instances += 1
    this.label = label
    this.rest = { ...rest, revision }
  }

  get parent() {
    return [${parents.map((parent) => `Model${parent}`).join(', ')}].find((model) => model?.instances > ${index % 3})
  }

  async *entries() {
    for (const [name, field] of this.#fields) yield { name, field: field ?? this.rest?.[name], revision }
  }

  render() {
    return createElement('section', { id: \`model-\${${index}}\`, title: this.label, ...this.rest })
  }
}

export const value = [typeof createElement, ${use}, revision, ${parents.map((parent) => `value${parent}?.length ?? 0`).join(', ')}]
`
}

/**
 * @template T
 * @param {readonly T[]} choices
 * @param {number} n
 * @returns {T}
 */
function pick(choices, n) {
  const choice = choices[n % choices.length]
  if (choice === undefined) throw new Error('there is nothing to choose from')
  return choice
}
