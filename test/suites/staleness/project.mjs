// @ts-check
// The files of a project on disk, and the environment that it is built in.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** @typedef {import('./scenario.mjs').Change} Change */

/** The end of the name of a folder that a project was moved to. */
const MOVED = '-moved'

/** How much older a file is made. */
const AGE_MS = 3_600_000

const MANIFEST = '{ "name": "app", "version": "1.0.0" }'

export class Project {
  /** @type {Record<string, string>} */
  env = {}
  /** What the server answers that the project asks. */
  served = ''

  /**
   * @param {string} folder removed first
   * @param {Readonly<Record<string, string>>} files
   */
  constructor(folder, files) {
    this.folder = folder
    rmSync(folder, { recursive: true, force: true })
    for (const [file, text] of Object.entries({ 'package.json': MANIFEST, ...files })) this.apply(['write', file, text])
  }

  /** @param {Change} change */
  apply(change) {
    const [kind, name = '', value = ''] = change
    const path = join(this.folder, name)
    if (kind === 'write') write(path, value)
    else if (kind === 'replace') replace(path, value, change[3])
    else if (kind === 'replaceKeepingTime') keepTime(path, () => replace(path, value, change[3]))
    else if (kind === 'age') age(path)
    else if (kind === 'touch') utimesSync(path, new Date(), new Date())
    else if (kind === 'rename') rename(path, join(this.folder, value))
    else if (kind === 'install') this.#install(name, value)
    else if (kind === 'move') this.#move()
    else if (kind === 'serve') this.served = name
    else if (kind === 'remove') rmSync(path, { recursive: true })
    else if (kind === 'link') link(path, value)
    else this.#setEnv(name, change[2])
  }

  /** A package whose word is its version. @param {string} name @param {string} version */
  #install(name, version) {
    this.apply(['write', `node_modules/${name}/package.json`, JSON.stringify({ name, version, main: 'index.js' })])
    this.apply(['write', `node_modules/${name}/index.js`, `exports.word = '${version}'`])
  }

  /** To another folder beside it, and the next time back. */
  #move() {
    const target = this.folder.endsWith(MOVED) ? this.folder.slice(0, -MOVED.length) : this.folder + MOVED
    rmSync(target, { recursive: true, force: true })
    renameSync(this.folder, target)
    this.folder = target
  }

  /** @param {string} name @param {string | undefined} value */
  #setEnv(name, value) {
    delete this.env[name]
    if (value !== undefined) this.env[name] = value
  }
}

/** @param {string} path @param {string} text its lines are indented as the scenario is, which is undone */
function write(path, text) {
  const lines = text.split('\n')
  const margins = lines.slice(1).flatMap((line) => /^ *(?=\S)/.exec(line)?.[0].length ?? [])
  const margin = Math.min(...margins)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, lines.map((line, index) => (index === 0 ? line : line.slice(margin))).join('\n'))
}

/** @param {string} path @param {string} text each place of it @param {string} replacement */
function replace(path, text, replacement) {
  const before = readFileSync(path, 'utf8')
  if (!before.includes(text)) throw new Error(`${path} has no '${text}'`)
  writeFileSync(
    path,
    before.replaceAll(text, () => replacement),
  )
}

/** @param {string} path @param {string} target */
function rename(path, target) {
  mkdirSync(dirname(target), { recursive: true })
  renameSync(path, target)
}

/** @param {string} path @param {() => void} change */
function keepTime(path, change) {
  const { atime, mtime } = statSync(path)
  change()
  utimesSync(path, atime, mtime)
}

/** @param {string} path */
function age(path) {
  const then = new Date(Date.now() - AGE_MS)
  utimesSync(path, then, then)
}

/** @param {string} path @param {string} target */
function link(path, target) {
  mkdirSync(dirname(path), { recursive: true })
  rmSync(path, { recursive: true, force: true })
  symlinkSync(target, path)
}
