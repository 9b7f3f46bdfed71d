// @ts-check
// A program of steps, which reads and changes files, and then work of some reads that may come from the cache. Prints whether it did, what
// was found and what the work would give now. What the work gives has everything that the program read before, too.
//
// node program.mjs '{ "dir": cache directory, "id": id, "first": steps, "work": steps, "last": steps }'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { installReads, unrecorded } from 'varve/reads'
import { openCache } from 'varve'

/** @typedef {readonly [kind: string, path: string, other: string]} Step */

installReads()

/** Steps that read, by name. @type {Readonly<Record<string, (path: string) => unknown>>} */
const READS = {
  read: (path) => fs.readFileSync(path, 'utf8'),
  exists: (path) => fs.existsSync(path),
  stat: (path) => fs.statSync(path).isDirectory(),
  list: (path) => fs.readdirSync(path).sort(),
  tree: (path) => fs.readdirSync(path, { recursive: true }).sort(),
}

/** Steps that change something, by name; the last two do so unseen. @type {Readonly<Record<string, (path: string, other: string) => unknown>>} */
const CHANGES = {
  write: (path) => fs.writeFileSync(path, 'written'),
  copy: (path, other) => fs.copyFileSync(path, other),
  remove: (path) => fs.rmSync(path, { recursive: true, force: true }),
  makeFolder: (path) => fs.mkdirSync(path, { recursive: true }),
  rename: (path, other) => fs.renameSync(path, other),
  writeUnseen: (path) => execFileSync('sh', ['-c', `printf unseen > ${path}`], { stdio: 'ignore' }),
  removeUnseen: (path) => execFileSync('rm', ['-rf', path]),
}

/** @type {{ dir: string, id: string, first: Step[], work: Step[], last: Step[] }} */
const { dir, id, first, work, last } = JSON.parse(process.argv[2] ?? '')

/** Paths that the program writes or removes, before and after the work, as long as others can see that. */
const own = [...first, ...last].flatMap(([kind, path, other]) => {
  if (READS[kind] !== undefined || kind.endsWith('Unseen')) return []
  return kind === 'copy' ? [other] : kind === 'rename' ? [path, other] : [path]
})
/** Paths that it has changed so far. @type {string[]} */
const changed = []

/** @param {readonly string[]} paths @param {string} path */
const includes = (paths, path) =>
  paths.some((one) => one === path || one.startsWith(`${path}/`) || path.startsWith(`${one}/`))

/** @param {Step} step */
function find([kind, path]) {
  try {
    return READS[kind]?.(path)
  } catch (error) {
    // A path through a file is as missing as any other.
    const isThere = unrecorded(() => fs.existsSync(path))
    return `failed ${isThere ? /** @type {NodeJS.ErrnoException} */ (error).code : ''}`
  }
}

/** What the program knows. Of its own output only the content of a file counts that was there before: `a` always is. @type {unknown[]} */
const known = []
for (const step of first) {
  const [kind, path] = step
  if (READS[kind] === undefined) {
    change(step)
    continue
  }
  const found = find(step)
  const isInput = kind === 'read' && path === 'a'
  known.push(includes(changed, path) || (includes(own, path) && !isInput) ? 'output' : found)
}

/** @param {Step} step */
function change([kind, path, other]) {
  try {
    CHANGES[kind]?.(path, other)
  } catch {
    // The path is missing, or not what the step needs.
  }
  changed.push(path, other)
}

const cache = await openCache({ name: 'programs', dir })
const task = cache.task('work', { root: process.cwd(), codec: 'text', trackReads: true })
const run = () => JSON.stringify([known, work.map(find)])
const found = await task.run({ id }, run)
const result = { isHit: task.stats().hits > 0, found, expected: run() }
last.forEach(change)
await cache.close()
console.log(JSON.stringify(result))
