/** A user's module, compiled against the packed package. */
import { type Cache, openCache, TaskCycleError, VarveError, type WhyReport } from 'varve'
import type { CliJson } from 'varve/cli-json'
import type { FileManifest } from 'varve/files'
import type { ExportReport, ExportTarget } from 'varve/json'

const cache: Cache = await openCache({ name: 'consumer', dir: 'cache', maxBytes: '500MB' })
const texts = cache.namespace('texts', { version: '1', codec: 'text' })
texts.put('key', 'value')
const text: string | undefined = texts.get('key')
const found: (string | undefined)[] = texts.getMany(['key', 'other'])

const task = cache.task<{ code: string }>('task', { inputs: { config: {} }, findInput: (name) => name })
const { code }: { code: string } = await task.run({ id: 'a.ts', inputs: { source: '' }, files: ['b.ts'] }, (ctx) => {
  ctx.addFile('c.ts', 'content')
  return { code: ctx.addEnv('NODE_ENV') ?? '' }
})
const why: WhyReport = await task.why('a.ts', { source: code })

const { size }: { size: number } = await cache.task('inferred').run({ id: 'a.ts' }, async () => ({ size: code.length }))
const made: string = await texts.getOrPut('key', () => code)
texts.putMany(new Map([['key', made]]))
texts.clear()
const count: number = texts.count()
const manifest: FileManifest = await cache.files.store('dist')
const target: ExportTarget = process.stdout
const report: ExportReport = await cache.exportJson(target)
console.log(
  size,
  count,
  manifest.files.length,
  report.bytes,
  cache.closed satisfies boolean,
  texts.version satisfies string,
)

// @ts-expect-error a number is not a text
texts.putMany([['key', 1]])
// @ts-expect-error compute makes texts
await texts.getOrPut('key', () => 1)
// @ts-expect-error internal members are not part of the types
void texts.putEncoded
// @ts-expect-error the option has another name
await openCache({ name: 'consumer', key: 'secret' })
// @ts-expect-error the results of this task are texts
await cache.task('texts', { codec: 'text' }).run({ id: 'a.ts' }, () => why.differences.length)
// @ts-expect-error a request has no such field
await task.run({ id: 'a.ts', input: {} }, () => ({ code }))
cache.task('shared', { sharedFiles: ['config.json'], packages: ['marked'] })
// @ts-expect-error files of all runs have another name
cache.task('shared', { files: ['config.json'] })
// @ts-expect-error packages are a list of names
cache.task('shared', { packages: 'marked' })
// @ts-expect-error a number is not a text
texts.put('key', 1)
// @ts-expect-error there is no such option
await openCache({ name: 'consumer', directory: 'cache' })

try {
  await cache.commit({ durability: 'durable' })
} catch (error) {
  if (error instanceof VarveError) console.log(error.code satisfies string, text, found)
}
const { caches }: CliJson['stats --dir'] = {
  format: 1,
  caches: [{ dir: '', domain: cache.status().domain, contents: [], ...(await cache.stats()) }],
}
const { entries, bytes }: { entries: number; bytes: number } = cache.status().pending
console.log(caches.length, entries, bytes, TaskCycleError)
await cache.close({ commit: false })
