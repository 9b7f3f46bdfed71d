/** Commands that do one thing to each cache that `--dir` means, and say of each what came of it. */
import type { CommonOptions } from './command.ts'
import { escapeText } from './escape.ts'
import { findCaches } from './folder.ts'
import { write, writeJson } from './output.ts'

/** Runs and then writes all reports: as JSON with the folder of each, or as its folder and `textOf`. Returns them. */
export async function reportEach<Report extends object>(
  { dir: given, json }: CommonOptions,
  run: (dir: string) => Promise<Report>,
  textOf: (report: Report) => string,
): Promise<readonly Report[]> {
  const found: (Report & { readonly dir: string })[] = []
  for (const dir of findCaches(given)) found.push({ dir, ...(await run(dir)) })
  if (json === true) await writeJson(found.length === 1 ? found[0] : found)
  else for (const report of found) await write(`${escapeText(report.dir)}\n${textOf(report)}`)
  return found
}
