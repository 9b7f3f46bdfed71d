#!/usr/bin/env node
/** `varve`: prints its version, or runs a command. */
import { watchStreams } from './output/escape.ts'
import { disk } from '../host/disk.ts'

watchStreams()

const { version } = JSON.parse(disk.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

const [first = '', ...others] = process.argv.slice(2)
if (others.length === 0 && (first === '--version' || first === '-V')) process.stdout.write(`${version}\n`)
else await (await import('./program.ts')).runProgram(version)
