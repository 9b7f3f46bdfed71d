/** `varve watch`: follows running builds, from what other processes commit. It reads; the builds do not notice it. */
import { type Command, InvalidArgumentError } from 'commander'
import { setTimeout as delay } from 'node:timers/promises'
import prettyMs from 'pretty-ms'
import type { WatchEventJson } from '../cli-json.ts'
import { readHistory } from '../history/history.ts'
import type { BuildRecord } from '../history/record.ts'
import type { Session } from '../session/session.ts'
import { command, type CommonOptions } from './command.ts'
import { escapeText } from './output/escape.ts'
import { findCaches, folderOf, inspect } from './open/folder.ts'
import { watchOutput, type WatchOutput } from './output/watch.ts'
import { counted, size } from './output/output.ts'

/** How often a cache is read, and how often new caches are looked for. */
const READ_MS = 250
const LOOK_MS = 1000

interface WatchOptions extends CommonOptions {
  readonly for?: number
}

export const watchCommand: Command = command(
  'watch',
  'follow running builds: what they commit, and how each build ended',
)
  .option('--for <seconds>', 'end after this time (default: at Ctrl-C)', secondsOf)
  .addHelpText('after', '\nOn a terminal, one line is updated; otherwise each change is a line.')
  .action(run)

async function run(options: WatchOptions): Promise<void> {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  const timer = options.for === undefined ? undefined : setTimeout(end, options.for * 1000)
  const output = watchOutput(options.json === true)
  const followed = new Map<string, Promise<void>>()
  try {
    await output.begin(`watching ${escapeText(folderOf(options.dir))}`)
    for (let isFirst = true; !stop.signal.aborted; isFirst = false) {
      for (const dir of cachesNow(options.dir).filter((found) => !followed.has(found))) {
        followed.set(
          dir,
          follow(dir, isFirst, output, stop.signal).finally(() => followed.delete(dir)),
        )
      }
      await pause(LOOK_MS, stop.signal)
    }
  } finally {
    clearTimeout(timer)
    await Promise.allSettled(followed.values())
    await output.end()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end)
  }
}

/** A build may make the first cache while this command waits. */
function cachesNow(dir: string | undefined): string[] {
  try {
    return findCaches(dir)
  } catch {
    return []
  }
}

/** What a cache has at one moment. */
interface Moment {
  readonly entries: number
  readonly bytes: number
  readonly builds: readonly BuildRecord[]
}

/** Reports changes until the signal, or until the cache is removed. What a new cache has was committed while we watched. */
async function follow(dir: string, wasThere: boolean, output: WatchOutput, signal: AbortSignal): Promise<void> {
  try {
    await inspect(dir, async ({ session }) => {
      let before: Moment = wasThere ? await momentOf(session) : { entries: 0, bytes: 0, builds: [] }
      for (let isNew = !wasThere; !signal.aborted; isNew = false) {
        if (isNew || session.call((store) => store.refresh())) {
          const now = await momentOf(session)
          for (const event of eventsBetween(dir, before, now)) await output.print(event, textOf(event))
          before = now
        }
        await pause(READ_MS, signal)
      }
    })
  } catch {
    await pause(LOOK_MS, signal) // removed, or not readable now: the next look finds out
  }
}

async function momentOf(session: Session): Promise<Moment> {
  const { bytes, namespaces } = await session.run((store) => store.stats())
  return {
    entries: namespaces.reduce((sum, { entries }) => sum + entries, 0),
    bytes,
    builds: session.call(readHistory),
  }
}

/** What happened between two moments: entries and bytes that were added, and builds that ended. */
export function eventsBetween(dir: string, before: Moment, now: Moment): WatchEventJson[] {
  const timeMs = Date.now()
  const { entries, bytes } = now
  const newEntries = entries - before.entries
  const newBytes = bytes - before.bytes
  const events: WatchEventJson[] =
    newEntries === 0 && newBytes === 0 ? [] : [{ timeMs, dir, entries, bytes, newEntries, newBytes }]
  const known = new Set(before.builds.map(identityOf))
  const ended = now.builds.filter((build) => !known.has(identityOf(build))).toReversed()
  return [...events, ...ended.map((build) => ({ timeMs, dir, entries, bytes, newEntries: 0, newBytes: 0, build }))]
}

function identityOf({ name, startMs, durationMs }: BuildRecord): string {
  return `${startMs} ${durationMs} ${name}`
}

function textOf({ dir, entries, bytes, newEntries, newBytes, build }: WatchEventJson): string {
  const where = escapeText(dir.split(/[/\\]/).at(-1) ?? dir)
  if (build === undefined) {
    const added = `${signed(newEntries, String(Math.abs(newEntries)))} entries, ${signed(newBytes, size(Math.abs(newBytes)))}`
    return `${where}: ${added} (${counted(entries, 'entry', 'entries')}, ${size(bytes)})`
  }
  const { name, durationMs, hits, misses, savedMs } = build
  const saved = savedMs === 0 ? '' : `, ${prettyMs(savedMs)} saved`
  return `${where}: build of ${escapeText(name)} ended after ${prettyMs(durationMs)}: ${hits} of ${hits + misses} from cache${saved}`
}

function signed(value: number, text: string): string {
  return `${value < 0 ? '-' : '+'}${text}`
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {}) // aborted: the caller looks
}

function secondsOf(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0 && value <= 86_400) return value
  throw new InvalidArgumentError(`invalid time '${text}': expected seconds, for example '30'.`)
}
