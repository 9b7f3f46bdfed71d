/** `varve remote keygen`: makes a pair of keys. It prints the secret one, because there is no other copy of it. */
import type { Command } from 'commander'
import { command, type CommonOptions } from '../command.ts'
import { write, writeJson } from '../output/output.ts'
import { loadRemote } from './module.ts'

export const remoteKeygenCommand: Command = command(
  'keygen',
  'make a signing key for publishers, and its public key for readers',
).action(run)

async function run(options: CommonOptions): Promise<void> {
  const { keyId, publicKey, signingKey } = (await loadRemote()).generateKeys()
  if (options.json === true) return writeJson('remote keygen', { keyId, publicKey, signingKey })
  await write(`# Key ${keyId}. For everyone who reads; it may be in the repository:\nVARVE_TRUSTED_KEYS=${publicKey}\n`)
  await write(`# For publishers only; store it as a secret of CI:\nVARVE_SIGNING_KEY=${signingKey}\n`)
}
