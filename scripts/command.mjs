// @ts-check
// The commands of package.json that have more than one program: `npm run <command> [-- <program>] [arguments]`. Without the name of a
// program, the first of the list runs. A name may have hyphens in front: `npm run build -- --all`.
import { at, isMain } from './common/root.mjs'

/** The programs of a command by their names. @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
export const PROGRAMS = {
  setup: { clone: 'scripts/setup.mjs', programs: 'scripts/programs.mjs', servers: 'scripts/servers.mjs' },
  build: { engines: 'scripts/build.mjs', all: 'scripts/cross.mjs' },
  bench: { ours: 'bench/ours.mjs', rivals: 'bench/rivals.mjs', figures: 'bench/figures.mjs' },
  docs: { site: 'scripts/docs.mjs', screenshots: 'scripts/screenshots.mjs' },
  release: { publish: 'scripts/release.mjs', pack: 'scripts/pack.mjs' },
  'test:safety': {
    short: 'test/safety/all.mjs',
    'power-loss': 'test/safety/power-loss.mjs',
    corruption: 'test/safety/corruption.mjs',
    'io-faults': 'test/safety/io-faults.mjs',
    concurrency: 'test/safety/concurrency.mjs',
    fuzz: 'test/safety/fuzz.mjs',
    mutation: 'test/safety/mutation.mjs',
  },
  'test:suites': {
    plugins: 'test/suites/all.mjs',
    types: 'test/suites/types/main.mjs',
    examples: 'test/suites/examples/main.mjs',
    peers: 'test/suites/peers/main.mjs',
  },
  'test:platforms': {
    addons: 'scripts/platforms.mjs',
    runtimes: 'scripts/runtimes.mjs',
    windows: 'scripts/windows.mjs',
  },
}

/**
 * The program that the arguments name, and the arguments that are left for it.
 * @param {string} command
 * @param {readonly string[]} args
 */
export function programOf(command, args) {
  const programs = PROGRAMS[command]
  if (programs === undefined) throw new Error(`there is no command '${command}'`)
  const [first = '', ...others] = args
  const named = programs[first.replace(/^--/, '')]
  return named === undefined
    ? { program: Object.values(programs)[0] ?? '', rest: args }
    : { program: named, rest: others }
}

if (isMain(import.meta)) {
  const [node = '', , command = '', ...args] = process.argv
  const { program, rest } = programOf(command, args)
  process.argv = [node, at(program), ...rest] // as if Node had been started with the program
  await import(at(program))
}
