// @ts-check
// Bundles a package for publishing: dist/bundle has one file for each entry point of package.json and few chunks, because
// loading a module costs more than its code does. The code keeps its lines and names, because Node prints the line that throws.
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../common/root.mjs'

/**
 * @typedef {object} Manifest
 * @property {Record<string, string | { types: string, require?: string, default: string }>} exports
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [peerDependencies]
 */

/** Relative to the package; as deep below it as the modules in folders of `src`, whose paths to `native` stay true. */
const OUTPUT = './dist/bundle/'

const NO_PROGRAMS = '\0no-programs.cjs'

/**
 * `commander` loads this module of Node for commands that are programs of their own, which varve does not have. Loading it takes as
 * long as the rest of a command.
 * @type {import('rolldown').Plugin}
 */
const WITHOUT_PROGRAMS = {
  name: 'without-programs',
  resolveId: (id, importer) => (id === 'node:child_process' && importer?.includes('/commander/') ? NO_PROGRAMS : null),
  load: (id) => (id === NO_PROGRAMS ? 'module.exports = {}' : null),
}

/** @param {string} folder @returns {Manifest} */
const manifestOf = (folder) => JSON.parse(readFileSync(at(`${folder}/package.json`), 'utf8'))

/**
 * `string-width` recognises emoji with this package, whose only line is a regular expression of 10 KB. Node.js has the same one.
 * @type {import('rolldown').Plugin}
 */
const NATIVE_EMOJI = {
  name: 'native-emoji',
  load: (id) => (id.includes('/emoji-regex/') ? 'module.exports = () => /\\p{RGI_Emoji}/gv' : null),
}

/**
 * The source of each entry point, relative to `src`, by the name of its bundle. `exports` names both.
 * @param {string} folder of the package, relative to the root
 * @returns {Record<string, string>}
 */
export function entryPoints(folder) {
  const points = Object.values(manifestOf(folder).exports).filter((point) => typeof point === 'object')
  return Object.fromEntries(
    points.map((point) => [
      point.default.slice(OUTPUT.length, -'.js'.length),
      point.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts'),
    ]),
  )
}

/**
 * Writes the files that `require` loads instead of an entry point, if `exports` names one. Config loaders such as jiti translate all
 * modules with `import` by Babel, and what they import. They load CommonJS natively, and Node loads the entry point and its imports from there.
 * Its second statement never runs: Node finds the names there if a program imports what `require.resolve` returned.
 * @param {string} folder of the package, relative to the root
 * @param {Readonly<Record<string, readonly string[]>>} names what each entry point exports, by the name of its file
 */
function writeRequired(folder, names) {
  for (const point of Object.values(manifestOf(folder).exports)) {
    if (typeof point !== 'object' || point.require === undefined) continue
    const file = point.default.slice(OUTPUT.length)
    const named = names[file]?.filter((name) => name !== 'default') ?? []
    const code = `module.exports = require('./${file}')\n0 && (module.exports = { ${named.join(', ')} })\n`
    writeFileSync(at(`${folder}/${point.require}`), code)
  }
}

/**
 * Installed packages and `generated` stay outside.
 * @param {string} folder of the package, relative to the root
 * @param {Record<string, string>} programs sources that no other module imports, relative to `src`, by the name of their bundle
 * @param {{ open: readonly string[], command: readonly string[] }} [groups] sources that every open cache loads later, and those that every
 * program loads: a file each, with what they import
 */
export async function bundle(folder, programs, groups = { open: [], command: [] }) {
  const { dependencies, peerDependencies } = manifestOf(folder)
  const installed = Object.keys({ ...dependencies, ...peerDependencies })
  const points = entryPoints(folder)
  const generated = at(`${folder}/generated/`)
  const dir = at(folder + OUTPUT.slice(1))
  const input = Object.fromEntries(
    Object.entries({ ...points, ...programs }).map(([name, source]) => [name, at(`${folder}/src/${source}`)]),
  )
  /** @type {Set<string>} Modules that an entry point loads at once. */
  const loaded = new Set()
  /** @type {Set<string>} Modules of `groups.open`. */
  const open = new Set()
  /** @type {Set<string>} Modules of `groups.command`. */
  const command = new Set()
  const { rolldown } = await import('rolldown') // setup, which imports this module, installs it
  const build = await rolldown({
    input,
    platform: 'node',
    external: (id) => id.startsWith(generated) || installed.some((name) => `${id}/`.startsWith(`${name}/`)),
    makeAbsoluteExternalsRelative: false,
    plugins: [{ name: 'loaded', buildEnd: noteLoaded }, WITHOUT_PROGRAMS, NATIVE_EMOJI],
    checks: { ineffectiveDynamicImport: false }, // a program imports what the entry points load later
  })
  rmSync(dir, { recursive: true, force: true })
  const { output } = await build.write({
    dir,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    codeSplitting: {
      groups: [
        { name: 'open', priority: 2, test: (id) => open.has(id) || (loaded.has(id) && command.has(id)) },
        { name: 'shared', priority: 1, minShareCount: 2, test: (id) => loaded.has(id) },
        { name: 'command', test: (id) => command.has(id) },
      ],
    },
    comments: { jsdoc: false },
    minify: false,
    paths: (id) => id.replace(generated, '../../generated/'),
  })
  await build.close()
  for (const { fileName } of output) await breakLines(join(dir, fileName))
  writeRequired(
    folder,
    Object.fromEntries(output.flatMap((chunk) => (chunk.type === 'chunk' ? [[chunk.fileName, chunk.exports]] : []))),
  )

  /** @this {import('rolldown').PluginContext} */
  function noteLoaded() {
    const infoOf = this.getModuleInfo.bind(this)
    const inSource = (/** @type {string} */ source) => at(`${folder}/src/${source}`)
    addImports(
      loaded,
      Object.keys(points).map((name) => input[name] ?? ''),
      infoOf,
    )
    addImports(open, groups.open.map(inSource), infoOf)
    addImports(command, groups.command.map(inSource), infoOf)
  }
}

/** Formats a bundle, because lists of imports and code of other packages have lines of thousands of characters. @param {string} path */
async function breakLines(path) {
  const { format } = await import('oxfmt')
  const { code, errors } = await format(path, readFileSync(path, 'utf8'), {
    printWidth: 120,
    semi: false,
    singleQuote: true,
  })
  if (errors[0] !== undefined) throw new Error(`cannot format '${path}': ${errors[0].message}`)
  writeFileSync(path, code)
  if (code.startsWith('#!')) chmodSync(path, 0o755) // npm does so only when it installs
}

/**
 * Adds these modules and what they import at once.
 * @param {Set<string>} modules
 * @param {readonly string[]} ids
 * @param {(id: string) => import('rolldown').ModuleInfo | null} infoOf
 */
function addImports(modules, ids, infoOf) {
  for (const id of ids) {
    if (modules.has(id)) continue
    modules.add(id)
    addImports(modules, infoOf(id)?.importedIds ?? [], infoOf)
  }
}
