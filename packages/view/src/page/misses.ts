/** The results that the last build made, grouped by reason. */
import type { BuildRecord } from 'varve'
import type { ContentsJson } from 'varve/cli-json'
import type { Explain } from './contents.ts'
import { button, el, section } from './dom.ts'
import { count, counted, date, duration } from './format.ts'
import { details, table } from './table.ts'

/** The section; `explain` is undefined if nothing can be asked. */
export function missesSection({ made }: ContentsJson, build: BuildRecord | undefined, explain: Explain): HTMLElement {
  const title = 'Misses of the last build'
  if (build === undefined) return section('misses', title, el('p', {}, 'No builds are recorded.'))
  const recorded = Object.entries(build.reasons).map(([reason, times]) => [reason, count(times)])
  const groups = made.reasons.map(({ reason, count: results, workMs, results: listed }) => {
    const rows = listed.map(({ id, task, tool = task, path = id, workMs: cost, differences }) => [
      button({ class: 'link' }, () => explain(id, task), path),
      tool,
      duration(cost),
      differences.map(({ kind, name }) => `${kind} ${name}`).join(', ') || '-',
    ])
    const list = table(`The costliest of ${counted(results, 'result')}`, ['id', 'task', 'took', 'what differs'], rows, [
      'took',
    ])
    return details(`${reason}: ${counted(results, 'result')}, ${duration(workMs)}`, list)
  })
  return section(
    'misses',
    title,
    el(
      'p',
      {},
      `${build.name}, ${date(build.startMs)}: ${counted(build.misses, 'miss', 'misses')}, ${counted(build.hits, 'hit')}.`,
    ),
    recorded.length === 0 ? '' : table('Reasons that the build recorded', ['reason', 'misses'], recorded, ['misses']),
    groups.length === 0
      ? el('p', {}, 'No result of a task was made in this build.')
      : el('h3', {}, 'Results of tasks that it made'),
    ...groups,
  )
}
