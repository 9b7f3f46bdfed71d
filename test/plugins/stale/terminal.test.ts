/**
 * A plugin that goes through all variables, as `debug` does, in a build of another terminal, of an editor or with an unrelated variable.
 * Each of them built everything again.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { slow } from '../../slow.ts'
import { rspackFiles, viteFiles, wrappedFiles } from './files.ts'
import { StaleProject } from './project.ts'

/** Loads `debug`, as the first module that Babel transforms does, and takes what the application has in variables. */
const CODE = `(globalThis.made ??= createRequire(import.meta.url)('debug'), 'A ' + Object.keys(process.env).filter((name) => name.startsWith('APP_')).map((name) => process.env[name]))`
const IMPORTS = `import { createRequire } from 'node:module'`
const PLUGIN = `{ name: 'plug', transform(code, id) { return /src.*js$/.test(id) ? { code: code.replace('WORD', ${CODE}), map: null } : null } }`
const LOADS = `{ name: 'plug', setup({ onLoad }) {
  onLoad({ filter: /src.*\\.js$/ }, ({ path }) => ({ contents: fs.readFileSync(path, 'utf8').replace('WORD', ${CODE}) }))
} }`
const LOADER = `const { createRequire } = require('node:module')
module.exports = (code) => code.replace('WORD', ${CODE.replace('import.meta.url', '__filename')})`

const PROJECTS: Readonly<Record<string, () => StaleProject>> = {
  vite: () => new StaleProject('vite', viteFiles(PLUGIN, IMPORTS)),
  rollup: () => new StaleProject('rollup', wrappedFiles('rollup', PLUGIN, IMPORTS)),
  rolldown: () => new StaleProject('rolldown', wrappedFiles('rolldown', PLUGIN, IMPORTS)),
  esbuild: () => new StaleProject('esbuild', wrappedFiles('esbuild', LOADS, `${IMPORTS}; import fs from 'node:fs'`)),
  rspack: () => new StaleProject('rspack', { ...rspackFiles(`'./loader.cjs'`), 'loader.cjs': LOADER }),
}

/** A terminal of VS Code, that of another editor, and a terminal of a desktop. */
const TERMINALS: readonly Readonly<Record<string, string>>[] = [
  {
    TERM_PROGRAM: 'vscode',
    TERM_PROGRAM_VERSION: '1.99.0',
    VSCODE_GIT_IPC_HANDLE: '/run/vscode.sock',
    GIT_ASKPASS: '/usr/share/code/askpass.sh',
    ORIGINAL_XDG_CURRENT_DESKTOP: 'GNOME',
  },
  { TERMINAL_EMULATOR: 'JetBrains-JediTerm', TERM_SESSION_ID: '1', IDEA_INITIAL_DIRECTORY: '/' },
  {
    KITTY_WINDOW_ID: '3',
    XDG_SESSION_ID: '2',
    DBUS_SESSION_BUS_ADDRESS: 'unix:',
    DESKTOP_SESSION: 'gnome',
    SHLVL: '5',
  },
]

/** The others run in the long tests. */
const isQuick = (tool: string): boolean => tool === 'vite' || tool === 'rspack'

describe.each([true, false])('a plugin that goes through all variables (quick: %s)', (quick) => {
  const projects = Object.entries(PROJECTS).filter(([tool]) => isQuick(tool) === quick)
  const options = quick ? {} : slow

  it.each(projects)('everything is a hit in another terminal: %s', options, async (_, project) => {
    const made = project()
    await made.warm({ APP_A: 'one' })
    for (const terminal of TERMINALS) {
      const { hits, reasons } = await made.build({ APP_A: 'one', ...terminal })
      expect(reasons).toEqual({})
      expect(hits).toBeGreaterThan(0)
    }
  })

  it.each(projects)('a variable that it takes, and one that is new, are inputs: %s', options, async (_, project) => {
    const made = project()
    await made.warm({ APP_A: 'one' })
    expect((await made.build({ APP_A: 'two' })).misses).toBeGreaterThan(0)
    expect((await made.build({ APP_A: 'two', APP_B: 'three' })).misses).toBeGreaterThan(0)
  })

  it.each(projects)(
    'an unrelated variable is a hit if only the package debug goes through them: %s',
    options,
    async (tool, project) => {
      const made = project()
      const file = tool === 'rspack' ? 'loader.cjs' : tool === 'vite' ? 'vite.config.mjs' : 'build.config.mjs'
      const text = readFileSync(join(made.folder, file), 'utf8')
      made.write(file, text.replace(/\+ Object\.keys.*?process\.env\[name\]\)/, "+ ''"))
      await made.warm({ APP_A: 'one' })
      expect((await made.build({ APP_A: 'two', FOO_RUN_ID: '2' })).reasons).toEqual({})
    },
  )
})
