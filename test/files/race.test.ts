/** Another process swaps a folder of the target for a link, again and again, while files are restored and removed there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { open, write } from './trees.ts'

/** In a process of its own: the folder, then a link to the place outside, then the folder again. Prints how often so far. */
const SWAPPER = `
const { renameSync, rmSync, symlinkSync, mkdirSync } = require('node:fs')
const [folder, outside] = process.argv.slice(1)
let swaps = 0
process.stdin.on('data', () => process.exit(0))
const turn = () => {
  for (let count = 0; count < 50; count++) {
    try { renameSync(folder, folder + '.away'); } catch {}
    try { symlinkSync(outside, folder); swaps++ } catch {}
    try { rmSync(folder, { force: true, recursive: false }) } catch {}
    try { renameSync(folder + '.away', folder) } catch {}
    try { mkdirSync(folder) } catch {}
    try { rmSync(folder + '.away', { recursive: true, force: true }) } catch {}
  }
  process.stdout.write(swaps + '\\n')
  setImmediate(turn)
}
turn()
`

/** For each engine. */
const SWAPS = 1500

test.each(ENGINES)(
  'a restore never writes through a folder that is swapped for a link meanwhile: %s',
  async (engine) => {
    const all = makeFolder()
    const [outside, target] = [join(all, 'outside'), join(all, 'target')]
    write({ 'f0.txt': 'untouched', 'sub/f0.txt': 'untouched', 'victim.txt': 'untouched' }, outside)
    const before = snapshot(outside)
    const cache = await open(engine)
    const manifest = await cache.files.store(
      write(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`d/f${index}.txt`, `text ${index}`]))),
    )
    mkdirSync(join(target, 'd'), { recursive: true })
    const swapper = spawn(process.execPath, ['-e', SWAPPER, join(target, 'd'), outside], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const seen = { swaps: 0, refused: 0 }
    const isEnough = (): boolean => seen.swaps >= SWAPS && seen.refused > 0
    swapper.stdout.on('data', (said: Buffer) => void (seen.swaps = Number(String(said).trimEnd().split('\n').at(-1))))
    await once(swapper.stdout, 'data')
    for (let round = 0; !isEnough(); round++) {
      const options = { clean: round % 3 === 0, mode: round % 2 === 0 ? 'auto' : 'hardlink' } as const
      // Refusing is right, and so is failing because a folder vanished; writing elsewhere is not.
      await cache.files.restore(manifest, target, options).catch(() => seen.refused++)
    }
    swapper.stdin.write('stop')
    await once(swapper, 'exit')
    expect(snapshot(outside)).toEqual(before)
    await cache.close()
  },
)
