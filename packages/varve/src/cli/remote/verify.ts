/** `varve remote verify`: reads every object that the manifests name. */
import type { Command } from 'commander'
import { escapeText } from '../escape.ts'
import { NEGATIVE } from '../exit.ts'
import { counted, size, write, writeJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import { collectCommit, openRemote, remoteCommandOf, type RemoteCommandOptions } from './module.ts'

interface VerifyOptions extends RemoteCommandOptions {
  readonly commit?: readonly string[]
}

export const remoteVerifyCommand: Command = remoteCommandOf('verify', 'read every object that the manifests of the remote name, and check its digest')
  .option('--commit <hash>', 'a commit whose manifest is used if a scope has no head; several times, the newest first', collectCommit)
  .action(run)

async function run({ commit, ...options }: VerifyOptions): Promise<void> {
  const { module, remote } = await openRemote(options, 'read')
  const report = await withProgress('verify', (control) => module.verifyRemote(remote, { commits: commit, ...control }))
  if (!report.sound) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('remote verify', report)
  const problems = report.problems.map((problem) => `${escapeText(problem)}\n`).join('')
  const what = `${counted(report.layers, 'layer')}, ${counted(report.chunks, 'chunk')}, ${size(report.bytes)}`
  await write(`${problems}${report.sound ? 'sound' : 'damaged'}: ${what}\n`)
}
