// @ts-check
// Restores a stored file that was replaced by 4 GiB of zeros; prints the result and the peak memory in MiB.
import { truncateSync } from 'node:fs'
import { openCache } from 'varve'

const [dir = '', source = '', target = '', engine, mode] = process.argv.slice(2)
const cache = await openCache({ name: 'peak', dir, engine: /** @type {'native' | 'wasm'} */ (engine) })
const manifest = await cache.files.store(source)
const [file] = manifest.files
if (file === undefined || !('digest' in file)) throw new Error('no file was stored')
truncateSync(`${dir}/v1/files/${file.digest.slice(0, 2)}/${file.digest}`, 4 * 2 ** 30)
const options = { mode: /** @type {'auto' | 'hardlink'} */ (mode) }
const code = await cache.files.restore(manifest, target, options).then(
  () => 'restored',
  (error) => error.code,
)
process.stdout.write(JSON.stringify({ code, peakMiB: Math.round(process.resourceUsage().maxRSS / 1024) }))
process.exit()
