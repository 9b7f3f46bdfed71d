// @ts-check
// An expensive loader: code and maps, dependencies of all kinds, emitted files, warnings. Notes each module.
const { appendFileSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

/** @type {import('@rspack/core').LoaderDefinition<{ banner: string, asks: boolean }>} */
module.exports = function expensive(code) {
  const folder = this.rootContext
  const { banner, asks } = this.getOptions()
  appendFileSync(join(folder, '.runs-cache'), `${this.resourcePath}\n`)
  if (this.resourcePath.endsWith('.text')) return `module.exports = ${JSON.stringify(code)}`
  const number = Number(/module-(\d+)/.exec(this.resourcePath)?.[1] ?? -1)
  if (code.includes('BROKEN')) throw new Error(`module ${number} is broken`)
  const shared = join(folder, 'shared.txt')
  this.addDependency(shared)
  this.addContextDependency(join(folder, 'watched'))
  this.addMissingDependency(join(folder, 'missing.txt'))
  if (number % 10 === 0) this.emitFile(`note-${number}.txt`, `note of ${number}\n`)
  if (number % 10 === 1) this.emitWarning(new Error(`module ${number} is old`))
  const line = `console.log(${JSON.stringify(`${banner} ${readFileSync(shared, 'utf8').trim()} ${number}`)})`
  const lines = code.split('\n').length - 1
  const mappings = `AAAA${';AACA'.repeat(lines)}`
  const callback = this.async()
  const end = () =>
    callback(null, `${code}${line}\n`, {
      version: 3,
      file: '',
      sources: [this.resourcePath],
      sourcesContent: [code],
      names: [],
      mappings,
    })
  if (asks && number === 3) this.importModule(join(folder, 'some.text'), {}, end)
  else end()
  return undefined
}
