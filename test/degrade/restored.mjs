// @ts-check
// A tool in a sandbox of its host that stores a directory, removes it and restores it; prints what a file contains then.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'

const [folder = ''] = process.argv.slice(2)
const files = join(folder, 'files')
mkdirSync(files)
writeFileSync(join(files, 'a.txt'), 'content')
const cache = await openCache({ name: 'restored', dir: join(folder, 'cache'), onWarning: () => {} })
const manifest = await cache.files.store(files)
rmSync(files, { recursive: true })
await cache.files.restore(manifest, files)
await cache.close()
process.stdout.write(JSON.stringify({ content: readFileSync(join(files, 'a.txt'), 'utf8') }))
