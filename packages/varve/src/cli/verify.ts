/** `varve verify`: reads every byte and lists damage. Modifies nothing. */
import type { Command } from 'commander'
import type { VerifyReport } from '../reports.ts'
import { command, type CommonOptions } from './command.ts'
import { damageTable, paint } from './output/table.ts'
import { reportEach, findReadable, inspect } from './open/folder.ts'
import { counted, size } from './output/output.ts'
import { withProgress } from './output/progress.ts'
import { NEGATIVE } from './output/exit.ts'

export const verifyCommand: Command = command('verify', 'read every byte and report damage; writes nothing').action(run)

async function run(options: CommonOptions): Promise<void> {
  const verify = (dir: string): Promise<VerifyReport> =>
    inspect(dir, ({ session }) => withProgress('verify', (control) => session.run((store) => store.verify(control))))
  const found = await reportEach('verify', options, verify, textOf, findReadable)
  if (found.some(({ sound }) => !sound)) process.exitCode = NEGATIVE
}

function textOf({ sound, files, bytes, entries, damage }: VerifyReport): string {
  const counts = `${counted(files, 'file')}, ${size(bytes)}, ${counted(entries, 'entry', 'entries')}`
  const verdict = `${sound ? paint('green', 'sound') : paint('red', `${counted(damage.length, 'place')} damaged`)}: ${counts}\n`
  const fix =
    damage.length > 0 ? "Damaged entries are misses; the next commit or 'npx varve repair' quarantines them.\n" : ''
  return `${verdict}${damageTable(damage)}${fix}`
}
