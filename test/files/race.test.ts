/** Somebody swaps a folder of the target for a link, again and again, while files are restored and removed there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder, snapshot } from '../folders.ts'
import { ENGINES, open, write } from './trees.ts'

/** In a process of its own: the folder, then a link to the place outside, then the folder. Says how often at the end. */
const SWAPPER = `
const { renameSync, rmSync, symlinkSync, mkdirSync } = require('node:fs')
const [folder, outside] = process.argv.slice(1)
let swaps = 0
let isOver = false
process.stdin.on('data', () => { isOver = true })
const turn = () => {
  for (let count = 0; count < 50; count++) {
    try { renameSync(folder, folder + '.away'); } catch {}
    try { symlinkSync(outside, folder); swaps++ } catch {}
    try { rmSync(folder, { force: true, recursive: false }) } catch {}
    try { renameSync(folder + '.away', folder) } catch {}
    try { mkdirSync(folder) } catch {}
    try { rmSync(folder + '.away', { recursive: true, force: true }) } catch {}
  }
  if (isOver) { process.stdout.write(String(swaps)); process.exit(0) }
  setImmediate(turn)
}
process.stdout.write('go\\n')
turn()
`

const SWAPS = 2000

test.each(ENGINES)('links swapped in the way of a restore: %s', async (engine) => {
  const all = makeFolder()
  const [outside, target] = [join(all, 'outside'), join(all, 'target')]
  write({ 'f0.txt': 'untouched', 'sub/f0.txt': 'untouched', 'victim.txt': 'untouched' }, outside)
  const before = snapshot(outside)
  const cache = await open(engine)
  const manifest = await cache.files.store(write(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`d/f${index}.txt`, `text ${index}`]))))
  mkdirSync(join(target, 'd'), { recursive: true })
  const swapper = spawn(process.execPath, ['-e', SWAPPER, join(target, 'd'), outside], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(swapper.stdout, 'data')
  let refused = 0
  const end = performance.now() + 3000
  for (let round = 0; performance.now() < end; round++) {
    const options = { clean: round % 3 === 0, mode: round % 2 === 0 ? 'auto' : 'hardlink' } as const
    // Refusing is right, and so is failing because a folder vanished; writing elsewhere is not.
    await cache.files.restore(manifest, target, options).catch(() => refused++)
  }
  const answer = once(swapper.stdout, 'data')
  swapper.stdin.write('stop')
  const [swaps] = await answer
  await once(swapper, 'exit')
  expect(snapshot(outside)).toEqual(before)
  expect(Number(String(swaps))).toBeGreaterThan(SWAPS / 2)
  expect(refused).toBeGreaterThan(0)
  await cache.close()
})
