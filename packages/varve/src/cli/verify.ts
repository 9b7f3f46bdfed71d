/** `varve verify`: reads every byte and names what is damaged. Modifies nothing. */
import type { Command } from 'commander'
import { command, type CommonOptions } from './command.ts'
import { damageTable } from './damage.ts'
import { escapeText } from './escape.ts'
import { NEGATIVE } from './exit.ts'
import { findCaches, inspect } from './folder.ts'
import { counted, size, write, writeJson } from './output.ts'
import { withProgress } from './progress.ts'
import { controlOf } from './watched.ts'

export const verifyCommand: Command = command('verify', 'read every byte and name what is damaged; modifies nothing').action(run)

async function run(options: CommonOptions): Promise<void> {
  const found = []
  for (const dir of findCaches(options.dir)) {
    const verify = inspect(dir, ({ session }) =>
      withProgress('verify', (watch) => session.run((store) => store.verify(controlOf(watch)))),
    )
    found.push({ dir, ...(await verify) })
  }
  if (found.some((report) => !report.sound)) process.exitCode = NEGATIVE
  if (options.json === true) return writeJson(found.length === 1 ? found[0] : found)
  for (const { dir, sound, files, bytes, entries, damage } of found) {
    const counts = `${counted(files, 'file')}, ${size(bytes)}, ${counted(entries, 'entry', 'entries')}`
    await write(`${escapeText(dir)}\n${sound ? 'sound' : `${counted(damage.length, 'place')} damaged`}: ${counts}\n`)
    await write(damageTable(damage))
    if (damage.length > 0) await write("What is damaged is a miss; the next commit or 'npx varve repair' sets it aside.\n")
  }
}
