/**
 * Checks the remote of an environment: the variables, the keys, the store, and whether this machine can use it. Every problem is a finding
 * with advice, and none of them has a secret: credentials and keys appear by the names of their variables or by their ids only.
 *
 *   1. The variables are read as a build reads them (`doctor/variables.ts`). If they are invalid, nothing else is checked.
 *   2. The store is asked for the heads, which are verified, and its clock is compared (`doctor/store.ts`).
 *   3. Only if writing is configured, an object is written, read and removed again.
 */
import type { RemoteFinding } from './doctor/finding.ts'
import { checkStore } from './doctor/store.ts'
import { checkVariables } from './doctor/variables.ts'
import { type Environment, type EnvironmentOptions, remoteFromEnvironment } from './environment.ts'

/** The outcome of `remoteDoctor`. */
export interface RemoteDoctorReport {
  /** False if a finding has advice. */
  readonly ok: boolean
  readonly findings: readonly RemoteFinding[]
}

/** Options of `remoteDoctor`. */
export interface RemoteDoctorOptions extends EnvironmentOptions {
  /**
   * Opens no connection.
   * @defaultValue `false`
   */
  readonly offline?: boolean | undefined
}

/** Checks the remote of an environment. It never rejects for a problem of the remote. */
export async function remoteDoctor(
  environment: Environment,
  { offline = false, ...options }: RemoteDoctorOptions,
): Promise<RemoteDoctorReport> {
  const findings = checkVariables(environment)
  const remote = opened(environment, options, findings)
  if (remote !== undefined && !offline) findings.push(...(await checkStore(remote)))
  return { ok: findings.every(({ advice }) => advice === undefined), findings }
}

/** The remote; undefined if there is none, or the variables are invalid, which is then a finding. */
function opened(
  environment: Environment,
  options: EnvironmentOptions,
  findings: RemoteFinding[],
): ReturnType<typeof remoteFromEnvironment> {
  try {
    return remoteFromEnvironment(environment, options)
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    findings.push({ what: 'remote', found: 'invalid', advice: found })
    return undefined
  }
}
