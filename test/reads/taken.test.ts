/** What code took out of a module of Node.js before the recorder was installed: it is in no object that the recorder could reach. */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { installReads, ReadScope, uninstallReads } from 'varve/reads'
import { makeFolder } from '../folders.ts'

const require = createRequire(import.meta.url)

afterEach(() => uninstallReads())

it.each([
  ['exec', 'process', 'child_process', "taken('true')"],
  ['spawn', 'process', 'child_process', "taken('true')"],
  ['fork', 'process', 'child_process', "taken(__filename, ['stop'])"],
  ['ChildProcess', 'process', 'child_process', "new taken().spawn({ file: 'true', args: ['true'] })"],
  ['Worker', 'worker thread', 'worker_threads', "new taken('', { eval: true })"],
])(
  'results of work are not kept that uses %s, taken before the recorder was installed, to start a %s',
  (name, what, from, use) => {
    const path = join(makeFolder(), 'taken.cjs')
    writeFileSync(path, `const taken = require('node:${from}').${name}; module.exports = () => ${use}`)
    const start: () => unknown = require(path)
    installReads()
    const scope = new ReadScope({ name: 'test', root: makeFolder() })
    scope.run(start)
    expect(scope.reason).toContain(`started the ${what} '`)
  },
)
