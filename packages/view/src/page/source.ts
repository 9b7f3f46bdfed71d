/** What the page shows: from the data in the page itself, or from the server that sent it. */
import type { ContentsJson, RecordJson, ViewCacheJson, ViewJson } from 'varve/cli-json'
import type { VerifyReport } from 'varve'

/** Called with how much of a call is done, from 0 to 1. */
export type Progress = (part: number) => void

export interface PageSource {
  /** Whether the caches can be asked for what the page does not have. */
  readonly isLive: boolean
  overview(): Promise<ViewJson>
  contents(cache: ViewCacheJson, progress: Progress): Promise<ContentsJson | undefined>
  verify(cache: ViewCacheJson, progress: Progress): Promise<VerifyReport | undefined>
  why(cache: ViewCacheJson, id: string, task?: string): Promise<readonly RecordJson[]>
}

export function pageSource(): PageSource {
  const data = document.getElementById('data')?.textContent
  return data === undefined ? live : embedded(JSON.parse(data))
}

function embedded(view: ViewJson): PageSource {
  return {
    isLive: false,
    overview: async () => view,
    contents: async ({ contents }) => contents,
    verify: async ({ verify }) => verify,
    why: async ({ records = [] }, id, task) =>
      records.filter((record) => record.id === id && (task === undefined || record.task === task)),
  }
}

const live: PageSource = {
  isLive: true,
  overview: () => ask('overview', {}),
  contents: ({ dir }, progress) => ask('contents', { dir }, progress),
  verify: ({ dir }, progress) => ask('verify', { dir }, progress),
  why: ({ dir }, id, task) => ask('why', { dir, id, ...(task === undefined ? {} : { task }) }),
}

interface Line<T> {
  readonly progress?: readonly [done: number, total: number]
  readonly result?: T
  readonly error?: string
}

async function ask<T>(name: string, query: Readonly<Record<string, string>>, progress?: Progress): Promise<T> {
  const response = await fetch(`${name}?${new URLSearchParams(query)}`)
  if (!response.ok || response.body === null) throw new Error(await response.text())
  let rest = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = `${rest}${read.value}`.split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      const line: Line<T> = JSON.parse(text)
      if (line.error !== undefined) throw new Error(line.error)
      if (line.result !== undefined) return line.result
      if (line.progress !== undefined) progress?.(line.progress[0] / (line.progress[1] || 1))
    }
  }
  throw new Error('varve view has ended; run it again')
}
