/**
 * Work that goes through all variables, as the package `debug` does when Babel loads it. An unrelated variable, or a build in the
 * terminal of an editor, made every result a miss.
 */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { afterEach, describe, expect, it } from 'vitest'
import { ReadScope } from 'varve/reads'
import { makeFolder } from '../folders.ts'
import { Counted, onEngine, type Subject, withCache } from '../task/subject.ts'

const require = createRequire(import.meta.url)

/** Ways to go through all variables that read their names. */
const NAMES: Readonly<Record<string, () => unknown>> = {
  'Object.keys': () => Object.keys(process.env),
  'Object.getOwnPropertyNames': () => Object.getOwnPropertyNames(process.env),
  'Reflect.ownKeys': () => Reflect.ownKeys(process.env),
  'for-in': () => {
    const names = []
    for (const name in process.env) names.push(name)
    return names
  },
  'for-in that takes what it looks for': () => {
    const values = []
    for (const name in process.env) if (name.startsWith('VARVETEST_APP_')) values.push(process.env[name])
    return values
  },
  'Object.keys and the value of each that it looks for': () =>
    Object.keys(process.env).flatMap((name) => (name.startsWith('VARVETEST_APP_') ? process.env[name] : [])),
}

/** Ways that read values, too. */
const VALUES: Readonly<Record<string, () => unknown>> = {
  spread: () => ({ ...process.env }),
  'the rest of a pattern': () => {
    const { VARVETEST_APP_A, ...rest } = process.env
    return [VARVETEST_APP_A, rest]
  },
  'Object.assign': () => Object.assign({}, process.env),
  'Object.entries': () => Object.entries(process.env),
  'Object.values': () => Object.values(process.env),
  'Object.getOwnPropertyDescriptors': () => Object.getOwnPropertyDescriptors(process.env),
  'JSON.stringify': () => JSON.stringify(process.env),
  'Object.keys and the value of each': () => Object.keys(process.env).map((name) => process.env[name]),
  'Reflect.ownKeys and the value of each': () =>
    Reflect.ownKeys(process.env).map((name) => Reflect.get(process.env, name)),
  'for-in and the value of each': () => {
    const values = []
    for (const name in process.env) values.push(process.env[name])
    return values
  },
}

/** What the terminal of VS Code sets, others, a desktop, and what npm and a debugger add to. */
const OF_TERMINALS = [
  'VSCODE_GIT_IPC_HANDLE',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'GIT_ASKPASS',
  'KITTY_WINDOW_ID',
  'WT_SESSION',
  'XDG_DATA_DIRS',
  'DBUS_SESSION_BUS_ADDRESS',
  'TERMINAL_EMULATOR',
  'NODE_OPTIONS',
]

const before = { ...process.env }

afterEach(() => {
  for (const name of Object.keys(process.env)) if (before[name] === undefined) delete process.env[name]
  Object.assign(process.env, before)
})

/** Whether work is done again, in a cache of its own as in a process of its own, after the environment changed. */
async function isMiss(subject: Subject, work: () => unknown, change: () => unknown): Promise<boolean> {
  const project = subject.project()
  const once = (): Promise<number> =>
    withCache(subject, project, async (cache) => {
      const counted = new Counted(cache, project.root, { trackReads: true })
      await counted.run({ id: 'id' }, work)
      return counted.count
    })
  process.env['VARVETEST_APP_A'] = 'one'
  process.env['VARVETEST_OTHER'] = 'one'
  expect(await once()).toBe(1)
  expect(await once()).toBe(0)
  change()
  return (await once()) === 1
}

function setTerminal(): void {
  for (const name of OF_TERMINALS) process.env[name] = name === 'NODE_OPTIONS' ? '--no-warnings' : 'another terminal'
  process.env['PATH'] = `/somewhere/node_modules/.bin:${before['PATH']}`
}

const setOther = (): void => void (process.env['VARVETEST_OTHER'] = 'two')
const setNew = (): void => void (process.env['VARVETEST_NEW'] = 'one')

onEngine('native', (subject) => {
  it.each(Object.entries(NAMES))('a variable that changed is a hit for work that reads names: %s', async (_, work) => {
    expect(await isMiss(subject, work, setOther)).toBe(false)
  })

  it.each(Object.entries({ ...NAMES, ...VALUES }))(
    'a variable that is new is a miss for work that reads all names: %s',
    async (_, work) => {
      expect(await isMiss(subject, work, setNew)).toBe(true)
    },
  )

  it.each(Object.entries(VALUES))(
    'a variable that changed is a miss for work that reads all values: %s',
    async (_, work) => {
      expect(await isMiss(subject, work, setOther)).toBe(true)
    },
  )

  it.each(Object.entries({ ...NAMES, ...VALUES }))(
    'another terminal is a hit for work that goes through all variables: %s',
    async (_, work) => {
      expect(await isMiss(subject, work, setTerminal)).toBe(false)
    },
  )

  it.each(Object.entries(NAMES).filter(([name]) => name.endsWith('looks for')))(
    'a variable that work finds in a list is an input: %s',
    async (_, work) => {
      expect(await isMiss(subject, work, () => (process.env['VARVETEST_APP_A'] = 'two'))).toBe(true)
      expect(await isMiss(subject, work, () => (process.env['VARVETEST_APP_B'] = 'two'))).toBe(true)
    },
  )

  it('a variable of a terminal, or of a run of a CI service, is an input if the work names it, also right after a list', async () => {
    for (const name of ['VSCODE_PID', 'GITHUB_SHA', 'XDG_CONFIG_HOME']) {
      const work = (): unknown => [Object.keys(process.env), process.env[name]]
      expect(await isMiss(subject, work, () => (process.env[name] = 'two')), name).toBe(true)
      const last = (): unknown => [Reflect.get(process.env, Object.keys(process.env).at(-1) ?? '')]
      process.env[name] = 'one'
      expect(await isMiss(subject, last, () => (process.env[name] = 'three')), `${name}, the last one`).toBe(true)
    }
  })

  it('variables that Nx and Turborepo set for each run are inputs of work that lists all, and NX_PUBLIC_* are not', async () => {
    const list = (): unknown => Object.keys(process.env)
    for (const name of ['NX_TASK_HASH', 'NX_SKIP_NX_CACHE', 'TURBO_HASH'])
      expect(await isMiss(subject, list, () => (process.env[name] = 'set')), name).toBe(false)
    expect(await isMiss(subject, list, () => (process.env['NX_PUBLIC_API'] = 'set'))).toBe(true)
  })

  it('the package debug, which Babel loads, looks only for variables with its prefix', async () => {
    const work = (): unknown => {
      for (const path of Object.keys(require.cache)) if (/[\\/]debug[\\/]/.test(path)) delete require.cache[path]
      return require('debug')
    }
    expect(await isMiss(subject, work, setNew)).toBe(false)
    expect(await isMiss(subject, work, () => (process.env['DEBUG_DEPTH'] = '3'))).toBe(true)
  })
})

describe('variables that work gives to a process', () => {
  const STARTS: Readonly<Record<string, () => unknown>> = {
    'by node:child_process itself': () => spawnSync(process.execPath, ['--version']),
    'by cross-spawn, which passes them on': () => require('cross-spawn').sync(process.execPath, ['--version']),
    'by execa, which copies them': () => require('execa').sync(process.execPath, ['--version']),
  }
  it.each(Object.entries(STARTS))('variables that a process gets are not read: %s', (_, work) => {
    const scope = new ReadScope({ name: 'test', root: makeFolder(), isDeclared: true })
    process.env['VARVETEST_OTHER'] = 'one'
    scope.run(work)
    expect(scope.recorded().variables.filter((name) => name.startsWith('VARVETEST') || name.endsWith('*'))).toEqual([])
  })
})
