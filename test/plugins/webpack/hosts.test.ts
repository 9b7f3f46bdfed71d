/** Hosts that never close their compiler, such as create-react-app. Each runs in a separate process. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { runProgram } from '../programs.ts'
import { slow } from '../../slow.ts'

const HOST = fileURLToPath(new URL('host.mjs', import.meta.url))

interface Run {
  readonly built: number
  readonly complaints: string[]
}

function makeProject(): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), "import './one.js'\nimport './two.js'\n")
  writeFileSync(join(folder, 'one.js'), 'console.log(1)\n')
  writeFileSync(join(folder, 'two.js'), 'console.log(2)\n')
  return folder
}

const run = (folder: string, order: object = {}): Promise<Run> => runProgram(HOST, { folder, ...order })

describe('a host that never closes its compiler', () => {
  it('a host that never closes its compiler stores the build when it is idle', slow, async () => {
    const folder = makeProject()
    expect(await run(folder)).toEqual({ built: 3, complaints: [] })
    expect(await run(folder)).toEqual({ built: 0, complaints: [] })
  })

  it.each(['native', 'wasm'])(
    'a host that calls process.exit() some time after the build stores it: %s',
    slow,
    async (engine) => {
      const folder = makeProject()
      process.env['VARVE_ENGINE'] = engine
      try {
        expect(await run(folder, { exit: 'when idle' })).toEqual({ built: 3, complaints: [] })
        expect(await run(folder)).toEqual({ built: 0, complaints: [] })
      } finally {
        delete process.env['VARVE_ENGINE']
      }
    },
  )

  it('a host that has loaded thousands of modules and calls process.exit() stores the build', slow, async () => {
    const folder = makeProject()
    const names = Array.from({ length: 3000 }, (_, index) => `loaded/module-${index}.cjs`)
    mkdirSync(join(folder, 'loaded'))
    for (const name of names) writeFileSync(join(folder, name), '')
    writeFileSync(join(folder, 'plugin.cjs'), names.map((name) => `require('./${name}')\n`).join(''))
    expect(await run(folder, { exit: 'when idle', load: 'plugin.cjs' })).toEqual({ built: 3, complaints: [] })
    expect(await run(folder, { load: 'plugin.cjs' })).toEqual({ built: 0, complaints: [] })
  })

  it('a host that calls process.exit() immediately stores what changed', slow, async () => {
    const folder = makeProject()
    await run(folder)
    appendFileSync(join(folder, 'one.js'), 'console.log(11)\n')
    expect(await run(folder, { exit: 'at once' })).toEqual({ built: 1, complaints: [] })
    expect(await run(folder)).toEqual({ built: 0, complaints: [] })
  })
})

it(
  'modules are built anew while the program removes the file of a module that it has loaded, because only its memory has that',
  slow,
  async () => {
    const folder = makeProject()
    writeFileSync(join(folder, 'plugin.cjs'), "try { require('./generated.cjs') } catch {}\n")
    const generated = join(folder, 'generated.cjs')
    const order = { load: 'plugin.cjs', remove: 'generated.cjs' }
    for (const built of [3, 3]) {
      writeFileSync(generated, 'module.exports = 1\n')
      expect(await run(folder, order)).toEqual({ built, complaints: [] })
    }
    // From here on, nothing is generated: the plugin is another one, and then remains the same.
    for (const built of [3, 0]) expect(await run(folder, order)).toEqual({ built, complaints: [] })
    writeFileSync(generated, 'module.exports = 2\n')
    expect(await run(folder, { load: 'plugin.cjs' })).toEqual({ built: 3, complaints: [] })
  },
)
