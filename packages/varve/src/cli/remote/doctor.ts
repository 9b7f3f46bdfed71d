/** `varve remote doctor`: whether this machine can use the remote, and what to fix. */
import type { Command } from 'commander'
import type { FindingJson } from '../../cli-json.ts'
import { examine } from '../../health/degraded.ts'
import { isOffline } from '../../remote/attach.ts'
import { findingsText } from '../output/findings.ts'
import { NEGATIVE } from '../output/exit.ts'
import { write, writeJson } from '../output/output.ts'
import { loadRemote, openCallOf, remoteCommandOf, type RemoteCommandOptions } from './module.ts'

export const remoteDoctorCommand: Command = remoteCommandOf(
  'doctor',
  'check variables, keys, store, clock and access of the remote, and advise what to fix',
).action(run)

async function run(options: RemoteCommandOptions): Promise<void> {
  const call = openCallOf(options)
  const module = await loadRemote()
  const report = await module.remoteDoctor(process.env, { ...call, offline: isOffline() })
  const findings = [...report.findings, ...directoryFindings(call.dir, options.shared)]
  const ok = findings.every(({ advice }) => advice === undefined)
  if (!ok) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson('remote doctor', { ok, findings })
  await write(findingsText(findings))
}

/** Whether layers can be stored on this machine. */
function directoryFindings(dir: string, shared: boolean | undefined): FindingJson[] {
  const { degraded } = examine(dir, '', { shared, readOnly: false })
  if (degraded === undefined) return [{ what: 'layers here', found: dir }]
  return [{ what: 'layers here', found: `${dir}: ${degraded.why}`, advice: degraded.fix }]
}
