/** `varve remote verify`: reads every object that the manifests name. */
import type { Command } from 'commander'
import { escapeText } from '../output/escape.ts'
import { NEGATIVE } from '../output/exit.ts'
import { counted, size, write, writeJson } from '../output/output.ts'
import { withProgress } from '../output/progress.ts'
import { openRemote, type ReadingOptions, readingCommandOf } from './module.ts'

export const remoteVerifyCommand: Command = readingCommandOf(
  'verify',
  'read every object that the manifests of the remote name, and check its digest',
).action(run)

async function run({ commit, ...options }: ReadingOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read')
  const report = await withProgress('verify', (control) => module.verifyRemote(remote, { commits: commit, ...control }))
  if (!report.sound) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('remote verify', report)
  const problems = report.problems.map((problem) => `${escapeText(problem)}\n`).join('')
  const what = `${counted(report.layers, 'layer')}, ${counted(report.chunks, 'chunk')}, ${size(report.bytes)}`
  await write(`${problems}${report.sound ? 'sound' : 'damaged'}: ${what}\n`)
}
