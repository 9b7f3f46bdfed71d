// @ts-check
// Starts the server that Nuxt built, twice, and expects the second one to have the result that the first one cached.
import assert from 'node:assert'
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { environmentOf } from './build.mjs'

const START_MS_MAX = 60_000

/** The result of the cached handler of a new server. @param {string} project @returns {Promise<{ total: number, computedAt: string }>} */
async function requestOnce(project) {
  const env = { ...environmentOf(project, 'warm'), HOST: '127.0.0.1', PORT: '0' }
  const server = spawn(process.execPath, [join(project, '.output/server/index.mjs')], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  try {
    const url = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('the server of Nuxt did not start')), START_MS_MAX)
      server.stdout.setEncoding('utf8').on('data', (text) => {
        const [found] = /http:\/\/[^\s]+/.exec(text) ?? []
        if (found === undefined) return
        clearTimeout(late)
        resolve(found)
      })
    })
    const response = await fetch(new URL('/api/total', url))
    return JSON.parse(await response.text())
  } finally {
    server.kill('SIGTERM')
    await ended
  }
}

/** @param {string} project */
export async function checkCachedHandler(project) {
  await rm(join(project, '.cache'), { recursive: true, force: true })
  const first = await requestOnce(project)
  assert.equal(first.total, 195.5)
  assert.deepEqual(await requestOnce(project), first, 'the second server computed the result again')
}
