/** Commands that handle each cache that `--dir` names, and report on each. */
import type { CacheReport, EachReports } from '../../cli-json.ts'
import type { CommonOptions } from '../command.ts'
import { escapeText } from '../output/escape.ts'
import { findCaches } from './folder.ts'
import { write, writeCaches } from '../output/output.ts'

/** Runs and then writes all reports: as JSON with the folder of each, or as its folder and `textOf`. Returns them. `find` names the caches. */
export async function reportEach<Name extends keyof EachReports>(
  name: Name,
  { dir: given, json }: CommonOptions,
  run: (dir: string) => Promise<EachReports[Name]>,
  textOf: (report: EachReports[Name]) => string,
  find: typeof findCaches = findCaches,
): Promise<readonly EachReports[Name][]> {
  const found: CacheReport<EachReports[Name]>[] = []
  for (const dir of find(given)) found.push({ dir, ...(await run(dir)) })
  if (json === true) await writeCaches(name, found)
  else for (const report of found) await write(`${escapeText(report.dir)}\n${textOf(report)}`)
  return found
}
