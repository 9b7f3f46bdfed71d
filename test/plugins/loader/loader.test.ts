/** `@varve/plugins/loader` alone, with the real webpack. */
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import webpack, { type Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { buildWith, makeApplication, MODULES } from '../scenarios.ts'
import { slow } from '../../slow.ts'

const build = buildWith(fileURLToPath(new URL('build.mjs', import.meta.url)), false)

const LOADER = fileURLToPath(new URL('../../../packages/plugins/dist/bundle/loader.js', import.meta.url))

/** The application with an image, and a loader for images that gives bytes: it turns each of them around. */
function makeApplicationWithImage(): string {
  const folder = makeApplication()
  copyFileSync(new URL('../rspack/loader.cjs', import.meta.url), join(folder, 'loader.cjs'))
  const invert = `module.exports = function (bytes) {
  require('node:fs').appendFileSync(require('node:path').join(__dirname, '.runs-cache'), this.resourcePath + '\\n')
  if (bytes.length === 3) this.cacheable(false)
  return Buffer.from(bytes.map((byte) => 255 - byte))
}
module.exports.raw = true
`
  writeFileSync(join(folder, 'invert.cjs'), invert)
  writeFileSync(join(folder, 'image.png'), Buffer.from(Array.from({ length: 256 }, (_, index) => index)))
  writeFileSync(
    join(folder, 'main.js'),
    readFileSync(join(folder, 'main.js'), 'utf8').replace('./some.text', './image.png'),
  )
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0", "sideEffects": true}')
  return folder
}

describe('the loader alone, in webpack', () => {
  it('a second process takes everything from the cache: code, maps, bytes, emitted files, warnings', async () => {
    const folder = makeApplicationWithImage()
    const none = await build(folder, { isCached: false })
    const cold = await build(folder)
    expect(cold).toMatchObject({ failure: null, digest: none.digest, warnings: none.warnings.map(secondLoader) })
    expect(cold.ran.length).toBe(MODULES + 2)
    const warm = await build(folder)
    expect(warm).toMatchObject({ failure: null, digest: none.digest, warnings: cold.warnings, ran: [] })
    expect(await build(folder, {}, true)).toMatchObject({ failure: null, digest: none.digest, ran: [] })
    expect(readFileSync(join(folder, 'dist', 'image.png'))[1]).toBe(254)
  })

  it('a cached loader runs again for a changed module, a changed loader and changed options', slow, async () => {
    const folder = makeApplicationWithImage()
    await build(folder)
    appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
    expect((await build(folder)).ran).toEqual(['module-7.js'])
    expect((await build(folder, { banner: 'loud' })).ran.length).toBe(MODULES + 1)
    appendFileSync(join(folder, 'invert.cjs'), '// changed\n')
    expect((await build(folder)).ran).toEqual(['image.png'])
  })

  // The caches of loaders without a plugin were told apart by their options as JSON, in which all patterns look alike.
  it('compilers whose keys are different patterns have results of their own', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), '')
    writeFileSync(join(folder, 'loader.cjs'), 'module.exports = function () { return this.getOptions().make() }')
    const configOf = (text: string): Configuration => {
      const caching = { loader: LOADER, options: { dir: 'cache', cacheKey: new RegExp(text) } }
      const own = { loader: join(folder, 'loader.cjs'), options: { make: () => `console.log('${text}')` } }
      const output = { path: folder, filename: `${text}.out.js` }
      return {
        mode: 'production',
        context: folder,
        entry: './main.js',
        output,
        cache: false,
        module: { rules: [{ use: [caching, own] }] },
      }
    }
    for (const text of ['one', 'two']) {
      const compiler = webpack(configOf(text))
      await promisify(compiler?.run.bind(compiler) ?? expect.fail)()
      await promisify(compiler?.close.bind(compiler) ?? expect.fail)()
    }
    for (const text of ['one', 'two']) expect(readFileSync(join(folder, `${text}.out.js`), 'utf8')).toContain(text)
  })

  /** The caching loader alone does not know the config file of webpack, whose text stands for such options elsewhere. */
  it.each<readonly [string, Configuration, Configuration]>([
    [
      'what a loader resolves',
      { resolve: { extensions: ['.one.js', '.two.js'] } },
      { resolve: { extensions: ['.two.js', '.one.js'] } },
    ],
    [
      'what the code may contain',
      { output: { environment: { arrowFunction: true } } },
      { output: { environment: { arrowFunction: false } } },
    ],
    ['how names are hashed', { output: { hashSalt: 'one' } }, { output: { hashSalt: 'two' } }],
    ['the name of the application', { output: { uniqueName: 'one' } }, { output: { uniqueName: 'two' } }],
  ])('a loader gives what it gave with another config: %s', async (_, one, two) => {
    const [folder, path] = [makeFolder(), makeFolder()] // webpack reports the directory in which it resolves
    for (const name of ['main', 'word.one', 'word.two']) writeFileSync(join(folder, `${name}.js`), '')
    const code = `module.exports = function () {
  const callback = this.async()
  const { hashSalt, environment: { arrowFunction }, _compilation: { outputOptions: { uniqueName } } } = this
  this.getResolve()(this.context, './word', (_, path) => callback(null, 'log(' + JSON.stringify([arrowFunction, hashSalt, uniqueName, path]) + ')'))
}`
    writeFileSync(join(folder, 'loader.cjs'), code)
    const codeWith = async (config: Configuration, isCached: boolean): Promise<string> => {
      const use = [
        ...(isCached ? [{ loader: LOADER, options: { dir: join(path, 'cache'), trackReads: false } }] : []),
        join(folder, 'loader.cjs'),
      ]
      const output = { ...config.output, path, filename: 'out.js' }
      const compiler = webpack({
        ...config,
        mode: 'none',
        context: folder,
        entry: './main.js',
        output,
        cache: false,
        module: { rules: [{ use }] },
      })
      await promisify(compiler?.run.bind(compiler) ?? expect.fail)()
      await promisify(compiler?.close.bind(compiler) ?? expect.fail)()
      return /log\(.*\)/.exec(readFileSync(join(path, 'out.js'), 'utf8'))?.[0] ?? ''
    }
    expect(await codeWith(one, true)).toBe(await codeWith(one, false))
    expect(await codeWith(two, true)).toBe(await codeWith(two, false))
    expect(await codeWith(two, false)).not.toBe(await codeWith(one, false))
  })

  it('a loader that declares its result not cacheable runs each time', slow, async () => {
    const folder = makeApplicationWithImage()
    writeFileSync(join(folder, 'image.png'), Buffer.from([1, 2, 3]))
    for (const ran of [MODULES + 2, 1, 1]) expect((await build(folder)).ran.length).toBe(ran)
  })
})

/** Warnings name the place of a loader in its rule, and the caching one stands in front. */
function secondLoader(warning: string): string {
  return warning.replace('use[0]', 'use[1]')
}
