// @ts-check
// What generated plugins do, in each way that Node.js has for it. This file is copied into each project. Paths are relative to it,
// which is the root of the project. An operation returns a text; one that fails returns the code of its error.
const childProcess = require('node:child_process')
const fs = require('node:fs')
const http = require('node:http')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { Worker } = require('node:worker_threads')

/**
 * What a call of the plugin is about, and what it may ask of the tool.
 * @typedef {{ name: string, emit: (file: string, text: string) => void, readFile: (file: string) => unknown,
 *   importModule?: (file: string) => unknown }} Self
 */

/** @param {string} name */
const at = (name) => path.join(__dirname, name)

/** @param {string} text */
const quoted = (text) => JSON.stringify(text)

/** @param {readonly string[]} names */
const listed = (names) =>
  names
    .map((name) => name.replaceAll(path.sep, '/'))
    .sort()
    .join()

/** @param {readonly import('node:fs').Dirent[]} entries */
const typed = (entries) => listed(entries.map((entry) => `${entry.isDirectory() ? '/' : ''}${entry.name}`))

/** @param {import('node:fs').Stats} stats */
const typeOf = (stats) => (stats.isDirectory() ? 'folder' : 'file')

/** @param {NodeJS.ReadableStream} stream @returns {Promise<string>} */
async function textOf(stream) {
  let text = ''
  for await (const part of stream) text += part
  return text
}

/** @param {string} folder @returns {string[]} all files below, found one directory at a time */
function walk(folder) {
  return fs.readdirSync(folder).flatMap((name) => {
    const below = path.join(folder, name)
    return fs.statSync(below).isDirectory() ? walk(below) : [path.relative(__dirname, below)]
  })
}

/** @param {string} name */
function firstBytes(name) {
  const file = fs.openSync(at(name), 'r')
  const buffer = Buffer.alloc(64)
  const length = fs.readSync(file, buffer, 0, 64, 0)
  fs.closeSync(file)
  return buffer.toString('utf8', 0, length)
}

/** @param {string} name */
async function viaHandle(name) {
  const file = await fs.promises.open(at(name))
  const text = await file.readFile('utf8')
  await file.close()
  return text
}

/** @param {string} name @returns {Promise<string>} */
const viaCallback = (name) =>
  new Promise((resolve, reject) => {
    fs.readFile(at(name), 'utf8', (error, text) => (error ? reject(error) : resolve(text)))
  })

/** @param {string} name @returns {Promise<string>} */
const inWorker = (name) =>
  new Promise((resolve, reject) => {
    const code = `require('node:worker_threads').parentPort.postMessage(require('node:fs').readFileSync(${quoted(at(name))}, 'utf8'))`
    new Worker(code, { eval: true }).on('message', resolve).on('error', reject)
  })

/** @param {string} address @returns {Promise<string>} */
const viaHttp = (address) =>
  new Promise((resolve, reject) => {
    http.get(address, (response) => textOf(response).then(resolve, reject)).on('error', reject)
  })

/** @param {string} address @returns {Promise<string>} */
const viaSocket = (address) =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(address)
    const socket = net.connect(Number(port), hostname)
    socket.end(`GET ${pathname} HTTP/1.0\r\nHost: ${hostname}\r\n\r\n`)
    textOf(socket).then((text) => resolve(text.slice(text.indexOf('\r\n\r\n') + 4)), reject)
  })

/** Looks for the file with each extension, as resolvers do. @param {string} name */
function withExtension(name) {
  const found = ['.local', '.json', '.txt'].map((extension) => name + extension).find((file) => fs.existsSync(at(file)))
  return found === undefined ? 'none' : `${found}: ${fs.readFileSync(at(found), 'utf8')}`
}

/** The nearest file of that name, from the folder upward to the root. @param {string} name */
function upward(name) {
  let folder = path.dirname(at(name))
  while (!fs.existsSync(path.join(folder, path.basename(name))) && folder !== __dirname) folder = path.dirname(folder)
  return fs.readFileSync(path.join(folder, path.basename(name)), 'utf8')
}

/** Reads a request that somebody left, and removes it. @param {string} name */
function take(name) {
  try {
    return fs.statSync(at(name)).isDirectory() ? listed(fs.readdirSync(at(name))) : fs.readFileSync(at(name), 'utf8')
  } finally {
    fs.rmSync(at(name), { recursive: true, force: true })
  }
}

/** @param {string} name a file that has the path of another one */
const viaPointer = (name) => fs.readFileSync(at(fs.readFileSync(at(name), 'utf8').trim()), 'utf8')

/** A path in the directory of generated files. @param {string} name */
function generated(name) {
  fs.mkdirSync(at('gen'), { recursive: true })
  return at(`gen/${name}`)
}

/** A file outside of the project that is gone afterwards. @param {string} text */
function viaTemporary(text) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'generated-'))
  fs.writeFileSync(path.join(folder, 'part.txt'), text)
  const read = fs.readFileSync(path.join(folder, 'part.txt'), 'utf8')
  fs.rmSync(folder, { recursive: true })
  return read
}

/** @type {Readonly<Record<string, (subject: string, self: Self) => unknown>>} */
const OPERATIONS = {
  readFileSync: (name) => fs.readFileSync(at(name), 'utf8'),
  readBuffer: (name) => fs.readFileSync(Buffer.from(at(name))).toString(),
  readUrl: (name) => fs.readFileSync(pathToFileURL(at(name)), 'utf8'),
  readCallback: viaCallback,
  readPromise: (name) => fs.promises.readFile(at(name), 'utf8'),
  readStream: (name) => textOf(fs.createReadStream(at(name), 'utf8')),
  readDescriptor: firstBytes,
  readHandle: viaHandle,
  readPointer: viaPointer,
  readUpward: upward,
  takeSync: take,
  takeFolder: take,
  readExtension: withExtension,
  readSelf: (name, self) => self.readFile(at(name)),
  requireJson: (name) => JSON.stringify(require(at(name))),
  requireModule: (name) => require(at(name)).word,
  requirePackage: (name) => require(name).word,
  resolvePackage: (name) => path.relative(__dirname, require.resolve(name)),
  importModule: async (name) => (await import(pathToFileURL(at(name)).href)).word,

  readdirSync: (name) => listed(fs.readdirSync(at(name))),
  readdirTypes: (name) => typed(fs.readdirSync(at(name), { withFileTypes: true })),
  readdirTree: (name) => listed(fs.readdirSync(at(name), { recursive: true, encoding: 'utf8' })),
  readdirPromise: async (name) => listed(await fs.promises.readdir(at(name))),
  opendir: async (name) => {
    const entries = []
    for await (const entry of await fs.promises.opendir(at(name))) entries.push(entry)
    return typed(entries)
  },
  walk: (name) => listed(walk(at(name))),
  readAll: (name) =>
    walk(at(name))
      .sort()
      .map((file) => fs.readFileSync(at(file), 'utf8'))
      .join(),

  existsSync: (name) => String(fs.existsSync(at(name))),
  accessSync: (name) => String(fs.accessSync(at(name)) ?? 'there'),
  statSync: (name) => typeOf(fs.statSync(at(name))),
  statPromise: async (name) => typeOf(await fs.promises.stat(at(name))),
  statQuiet: (name) => String(fs.statSync(at(name), { throwIfNoEntry: false })?.isFile()),
  lstatSync: (name) => typeOf(fs.lstatSync(at(name))),
  size: (name) => String(fs.statSync(at(name)).size),
  realpathSync: (name) => path.relative(fs.realpathSync(__dirname), fs.realpathSync(at(name))),
  realpathNative: (name) => path.relative(fs.realpathSync(__dirname), fs.realpathSync.native(at(name))),
  readlinkSync: (name) => fs.readlinkSync(at(name)),

  variable: (name) => process.env[name] ?? 'unset',
  variableIn: (name) => String(name in process.env),
  variableSpread: (name) => ({ ...process.env })[name] ?? 'unset',
  variableOwn: (name) => String(Object.hasOwn(process.env, name)),
  variableNames: (prefix) => listed(Object.keys(process.env).filter((name) => name.startsWith(prefix))),
  variableEntries: (prefix) =>
    JSON.stringify(
      Object.entries(process.env)
        .filter(([name]) => name.startsWith(prefix))
        .sort(),
    ),

  execFileSync: (name) => childProcess.execFileSync('cat', [at(name)], { encoding: 'utf8', stdio: 'pipe' }),
  spawn: (name) => textOf(childProcess.spawn('cat', [at(name)]).stdout),
  worker: inWorker,
  fetch: async (address) => (await fetch(address)).text(),
  httpGet: viaHttp,
  connect: viaSocket,

  writeFile: (name, self) => {
    fs.writeFileSync(generated(`${self.name}.txt`), fs.readFileSync(at(name)))
    return 'written'
  },
  writeMore: (name, self) => {
    fs.appendFileSync(generated(`${self.name}.log`), fs.readFileSync(at(name)))
    return 'written'
  },
  writeStream: (name, self) =>
    new Promise((resolve, reject) => {
      const text = fs.readFileSync(at(name))
      const stream = fs.createWriteStream(generated(`stream-${self.name}.txt`)).on('error', reject)
      stream.end(text, () => resolve('written'))
    }),
  writeRenamed: async (name, self) => {
    await fs.promises.writeFile(generated(`${self.name}.part`), fs.readFileSync(at(name)))
    await fs.promises.rename(at(`gen/${self.name}.part`), at(`gen/renamed-${self.name}.txt`))
    return 'written'
  },
  writeLink: (name, self) => {
    fs.symlinkSync(at(name), generated(`link-${self.name}.txt`))
    return fs.readFileSync(at(name), 'utf8')
  },
  writeAndRead: async (name, self) => {
    await fs.promises.writeFile(generated(`${self.name}.tmp`), `${fs.readFileSync(at(name))} again`)
    return fs.promises.readFile(at(`gen/${self.name}.tmp`), 'utf8')
  },
  copyFile: (name, self) => {
    fs.copyFileSync(at(name), generated(`copy-${self.name}.txt`))
    return 'copied'
  },
  copyByProcess: (name, self) => {
    childProcess.execFileSync('cp', [at(name), generated(`process-${self.name}.txt`)], { stdio: 'ignore' })
    return 'copied'
  },
  makeFolder: (name) => {
    generated('empty')
    return fs.readFileSync(at(name), 'utf8')
  },
  useTemporary: (name) => viaTemporary(fs.readFileSync(at(name), 'utf8')),
  executeModule: async (name, self) => JSON.stringify(await self.importModule?.(at(name))),
  emit: (name, self) => {
    self.emit(`${self.name}.asset`, fs.readFileSync(at(name), 'utf8'))
    return 'emitted'
  },
}

/**
 * @param {string} kind
 * @param {string} subject
 * @param {Self} self
 */
async function operate(kind, subject, self) {
  try {
    return String(await OPERATIONS[kind]?.(subject, self)).trim()
  } catch (error) {
    return String(Reflect.get(Object(error), 'code'))
  }
}

/**
 * The same for the time at which a plugin is loaded.
 * @param {string} kind
 * @param {string} subject
 */
function operateSync(kind, subject) {
  try {
    const found = OPERATIONS[kind]?.(subject, { name: 'top', emit() {}, readFile: String })
    if (found instanceof Promise) found.catch(() => {}) // it would end the process
    return String(found).trim()
  } catch (error) {
    return String(Reflect.get(Object(error), 'code'))
  }
}

module.exports = { at, operate, operateSync }
