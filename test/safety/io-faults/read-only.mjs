// @ts-check
// Disks that cannot be written: a read-only mount can be read. Its commits fail with a typed error or report that they are in
// memory only. Nothing is written, and with `readOnly: true` the engine makes no writing call. With a limit on the size of
// files (EFBIG), commits fail and earlier ones stay.
//
//   node read-only.mjs <folder> <seed> <long> <replay>
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache, VarveError } from 'varve'
import { missingStrace } from '../strace.mjs'
import { tool } from './disk.mjs'
import { ALL_RIGHT, build, readAll, readFiles } from './fixture.mjs'

const [folder = ''] = process.argv.slice(2)
const ENGINES = /** @type {const} */ (['native', 'wasm'])
const figures = { mounts: 0, keysRead: 0, refused: 0, writingCalls: 0, straced: 0, limited: 0 }
/** @type {{ what: string, replay: string }[]} */
const violations = []
/** @param {string} what @param {() => Promise<void>} run */
const part = (what, run) =>
  run().catch((error) => void violations.push({ what: `${what}: ${String(error)}`, replay: what }))

for (const writer of ENGINES) {
  const dir = join(folder, writer)
  await (await build(dir, writer)).close()
  for (const engine of ENGINES)
    await part(`limited-${writer}-${engine}`, () => limited(join(folder, `limited-${writer}-${engine}`), engine))
  for (const engine of ENGINES) await part(`straced-${writer}-${engine}`, () => straced(dir, engine))
  tool('mount', '--bind', dir, dir)
  tool('mount', '-o', 'remount,bind,ro', dir)
  for (const engine of ENGINES)
    for (const readOnly of [true, false]) {
      await part(`mounted-${writer}-${engine}-${readOnly}`, () => mounted(dir, engine, readOnly))
    }
  tool('umount', dir)
}
const goals = {
  mounts: { min: 8 },
  keysRead: { min: 8 * ALL_RIGHT },
  refused: { min: 8 },
  writingCalls: { max: 0 },
  limited: { min: 4 },
}
process.stdout.write(JSON.stringify({ figures, goals, violations }))

/** @param {string} dir @param {'native' | 'wasm'} engine @param {boolean} readOnly */
async function mounted(dir, engine, readOnly) {
  const before = snapshot(dir)
  const cache = await openCache({ name: 'fixture', dir, engine, readOnly, onWarning: () => {} })
  const right = await readAll(cache)
  if (right !== ALL_RIGHT) throw new Error(`${right} of ${ALL_RIGHT} values`)
  if (!(await readFiles(cache))) throw new Error('stored files are missing')
  if (!(await cache.verify()).sound) throw new Error('verify finds damage')
  cache.namespace('n').put('new', new Uint8Array(10))
  // A durable commit fails; a relaxed one goes to memory and reports that.
  if (!readOnly && (await cache.commit()).inMemory !== true)
    throw new Error('a relaxed commit does not report that it is in memory')
  const code = await codeOf(() => cache.commit({ durability: 'durable' }))
  if (!['READ_ONLY', 'PERMISSION'].includes(code)) throw new Error(`a commit says ${code}`)
  if (cache.namespace('n').get('new') === undefined) throw new Error('what was put is not there for this handle')
  await cache.close()
  if (snapshot(dir) !== before) throw new Error('the folder has changed')
  figures.mounts++
  figures.keysRead += right
  figures.refused++
}

/**
 * The engine makes no writing call, even in a writable directory.
 * @param {string} dir
 * @param {'native' | 'wasm'} engine
 */
async function straced(dir, engine) {
  if (missingStrace(() => {}) !== undefined) return
  const before = snapshot(dir)
  const trace = join(folder, 'trace')
  const calls =
    'write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,' +
    'unlinkat,mkdir,mkdirat,rmdir,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,utimensat,openat,open,creat'
  const program = fileURLToPath(new URL('reader.mjs', import.meta.url))
  const strace = ['-f', '-y', '-e', `trace=${calls}`, '-o', trace, process.execPath, program, dir, engine]
  const { status, stderr } = spawnSync('strace', strace, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the reader ended with ${status}: ${stderr}`)
  const onlyOpens = / open(at)?\((?!.*(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC))/
  const writing = readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => line.includes(dir) && !onlyOpens.test(line))
  figures.writingCalls += writing.length
  figures.straced++
  if (writing.length > 0) throw new Error(`calls that write: ${writing.slice(0, 3).join('; ')}`)
  if (snapshot(dir) !== before) throw new Error('the folder has changed')
}

/** @param {string} dir @param {'native' | 'wasm'} engine */
async function limited(dir, engine) {
  const program = fileURLToPath(new URL('limited.mjs', import.meta.url))
  const order = ['--fsize=100000', process.execPath, program, dir, engine]
  const { status, signal, stdout, stderr } = spawnSync('prlimit', order, { encoding: 'utf8', timeout: 60_000 })
  if (status !== 0) throw new Error(`ended with ${signal ?? status}: ${stderr.slice(-300)}`)
  const { acknowledged, refused } = JSON.parse(stdout)
  if (refused === 0) throw new Error('no commit met the limit')
  const cache = await openCache({
    name: 'fixture',
    dir,
    engine: engine === 'native' ? 'wasm' : 'native',
    onWarning: () => {},
  })
  for (const number of acknowledged) {
    const value = cache.namespace('n').get(`k${number}`)
    if (value?.length !== 9000) throw new Error(`the acknowledged commit ${number} is lost`)
  }
  await cache.close()
  figures.limited++
}

/** Names, bytes and times of everything in a folder. @param {string} dir */
function snapshot(dir) {
  return readdirSync(dir, { recursive: true })
    .map(String)
    .sort()
    .map((name) => {
      const { ino, size, mtimeMs, ctimeMs } = statSync(join(dir, name))
      return `${name} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
    })
    .join('\n')
}

/** @param {() => Promise<unknown>} run */
async function codeOf(run) {
  try {
    await run()
    return 'acknowledged'
  } catch (error) {
    return error instanceof VarveError ? error.code : `not typed: ${String(error)}`
  }
}
