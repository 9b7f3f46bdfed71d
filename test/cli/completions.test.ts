/** `varve completions`: the scripts complete in the shells themselves, and have every command and option of `--help`. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pathForTest } from '../../scripts/programs/installed.mjs'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'

type Shell = 'bash' | 'zsh' | 'fish'

/** Prints what the completion function offers for the words in "$@", the last of which is incomplete. */
const BASH = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _varve; printf "%s\\n" "${COMPREPLY[@]}"'
/** The functions of zsh's completion system print what they are given. */
const ZSH = `compdef() {}; compadd() { shift; print -l -- $@ }; _files() { print files }
_describe() { for each in \${(P)2}; do if [[ $each == $words[CURRENT]* ]]; then print -r -- \${each%%:*}; fi; done }
script=$1; shift; source $script; words=("$@"); CURRENT=$#; _varve`
const FISH = 'source $argv[1]; complete -C "$argv[2..-1]"'

function script(shell: Shell): string {
  const file = join(makeFolder(), shell)
  const { status, out } = runVarve(['completions', shell])
  expect(status).toBe(0)
  writeFileSync(file, out)
  return file
}

/** Every developer's machine has bash, apart from Windows. */
function isInstalled(shell: Shell): boolean {
  return shell === 'bash' ? spawnSync(shell, ['--version']).status === 0 : pathForTest(shell) !== undefined
}

/** What a shell offers, sorted. */
function offered(shell: Shell, file: string, ...words: string[]): string[] {
  const args = {
    bash: ['--norc', '-c', BASH, file, ...words],
    zsh: ['-f', '-c', ZSH, 'zsh', file, ...words],
    fish: ['--no-config', '-c', FISH, file, words.join(' ')],
  }[shell]
  const { status, stdout, stderr } = spawnSync(shell, args, { encoding: 'utf8', cwd: makeFolder() })
  expect([status, stderr], words.join(' ')).toEqual([0, ''])
  return stdout
    .split('\n')
    .map((line) => line.split('\t', 1).join(''))
    .filter((line) => line !== '')
    .sort()
}

describe.each(['bash', 'zsh', 'fish'] as const)('varve completions %s', (shell) => {
  const isThere = isInstalled(shell)

  it.runIf(isThere)('completes commands, options, values and commands of commands', () => {
    const file = script(shell)
    expect(offered(shell, file, 'varve', 'com')).toEqual(['compact', 'completions'])
    expect(offered(shell, file, 'varve', 'files', '')).toEqual(['gc', 'ls', 'restore', 'verify'])
    expect(offered(shell, file, 'varve', 'files', 'ls', '--st')).toEqual(['--stored'])
    expect(offered(shell, file, 'varve', 'ls', '--st')).toEqual([])
    expect(offered(shell, file, 'varve', 'export', '--format', '')).toEqual(['json', 'ndjson'])
    expect(offered(shell, file, 'varve', 'ls', '--limit', '')).toEqual([])
    expect(offered(shell, file, 'varve', 'ls', '--dir', 'x', '--lo')).toEqual(['--long'])
    expect(offered(shell, file, 'varve', 'completions', '')).toEqual(['bash', 'fish', 'zsh'])
  })

  it.runIf(isThere)('offers every command and option of --help', () => {
    const file = script(shell)
    const help = runVarve(['--help']).out.split('Commands:\n')[1] ?? ''
    const names = [...help.matchAll(/^ {2}([a-z]+)(?= )/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'help')
    expect(names.length).toBeGreaterThan(20)
    expect(offered(shell, file, 'varve', '')).toEqual(names.sort())
    const flags = [...runVarve(['gc', '--help']).out.matchAll(/ (--[a-z-]+)(?= )/g)].map(([, flag = '']) => flag)
    expect(offered(shell, file, 'varve', 'gc', '--')).toEqual([...new Set(flags)].sort())
  })
})

describe('varve completions', () => {
  it('refuses a shell that it does not know, and names those that it knows', () => {
    const { status, err } = runVarve(['completions', 'tcsh'])
    expect([status, err]).toEqual([2, expect.stringContaining('bash, zsh, fish')])
  })
})
