/** Makes each Node.js process of a build write a CPU profile of its main thread when it exits. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { disk } from '../../host/disk.ts'

/** The time between two samples, in microseconds. */
const INTERVAL_US = 1000

/** A module that profiles the process that imports it. Its directory gets the profile. */
const PROFILER = `import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { isMainThread } from 'node:worker_threads'
if (isMainThread) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: ${INTERVAL_US} })
  session.post('Profiler.start')
  process.once('exit', () => {
    session.post('Profiler.stop', (error, result) => {
      if (!error) writeFileSync(new URL(process.pid + '.cpuprofile', import.meta.url), JSON.stringify(result.profile))
    })
  })
}
`

/** Writes the module into a directory of its own, and returns the option of Node.js that imports it. */
export function profilerOption(folder: string): string {
  const path = join(folder, 'profiler.mjs')
  disk.writeFileSync(path, PROFILER)
  return `--import=${pathToFileURL(path).href}`
}
