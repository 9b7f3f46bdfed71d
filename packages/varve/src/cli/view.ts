/**
 * `varve view`: a page about the caches, served on this machine or written to a file, and what the page asks of the caches. `@varve/view` has
 * the page. Each call opens a cache read-only and closes it, so that files stay free.
 */
import { type Command, InvalidArgumentError } from 'commander'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { VarveError } from '../errors.ts'
import { intoPlace } from '../files/spool.ts'
import { command, type CommonOptions } from './command.ts'
import { describedIn, pathOf, wholeNumber } from './open/entries.ts'
import { escapeText } from './output/escape.ts'
import { findReadable, inspect, type OpenFolder } from './open/folder.ts'
import { cannotWrite, withProgress, write, writeJson } from './output/output.ts'
import { disk } from '../host/disk.ts'
import {
  CLI_JSON_FORMAT,
  type ContentsJson,
  type RecordJson,
  type ViewCacheJson,
  type ViewJson,
  type ViewRemoteJson,
} from '../cli-json.ts'
import type { EngineControl } from '../engine/engine.ts'
import { readHistory } from '../history/history.ts'
import { RECORDS_PREFIX } from '../host/format.ts'
import { installedPackage } from '../host/installed.ts'
import type { Root } from '../inputs/root.ts'
import { isOffline } from '../remote/attach.ts'
import type { VerifyReport } from '../reports.ts'
import { findingsOf } from './doctor.ts'
import { candidateRoots, keysOf, recordOf, tasksOf } from './open/tasks.ts'
import { explain } from './why.ts'
import { contentsOf } from './view/contents.ts'

const PORT_MAX = 65_535

interface ViewOptions extends CommonOptions {
  readonly out?: string
  readonly port: number
  readonly root?: string
  readonly verify?: boolean
}

export const viewCommand: Command = command(
  'view',
  'show the caches on a page in the browser, or write the page to a file',
)
  .option('--out <file>', 'write one file with everything in it instead of serving the page', pathOf)
  .option('--port <number>', 'port of the server; 0 is any free one', portOf, 0)
  .option('--root <directory>', 'root of the tasks (default: the directory above that has their files)', pathOf)
  .option('--verify', 'with --out or --json: read every byte and report damage')
  .action(run)

async function run({ dir, json, out, port, root, verify = false }: ViewOptions): Promise<void> {
  findReadable(dir) // a directory without a cache is an error before anything else
  const source = new ViewSource(dir, root)
  if (json === true) return writeJson('view', await withProgress('view', (control) => source.report(verify, control)))
  const view = await loadView()
  if (out !== undefined) {
    const page = view.reportPage(await withProgress('view', (control) => source.report(verify, control)))
    await writePage(out, page)
    return write(`${escapeText(out)}\n`)
  }
  const server = await view.serve(source, { port }).catch((error: unknown) => Promise.reject(cannotServe(port, error)))
  await write(`${server.url}\nCtrl-C ends the server.\n`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await server.close()
}

/** Writes the file completely or not at all. Others may not read it: it has names and keys of the project. */
async function writePage(out: string, page: string): Promise<void> {
  try {
    await intoPlace(resolve(out), (to, creates) =>
      disk.promises.writeFile(to, page, { flag: creates ? 'wx' : 'w', mode: 0o600 }),
    )
  } catch (error) {
    throw cannotWrite(out, error)
  }
}

function cannotServe(port: number, error: unknown): VarveError {
  const { message } = error instanceof Error ? error : new Error(String(error))
  return new VarveError('IO', `cannot serve the page on port ${port}: ${message}. Choose another with --port`, {
    cause: error,
  })
}

/** A port in the arguments. */
function portOf(text: string): number {
  if (wholeNumber(text) <= PORT_MAX) return wholeNumber(text)
  throw new InvalidArgumentError(`'${text}' is not a port: expected 0 to ${PORT_MAX}.`)
}

export interface ViewModule {
  /** A page that needs nothing but itself. */
  reportPage(view: ViewJson): string
  serve(
    source: Pick<ViewSource, 'overview' | 'contents' | 'verify' | 'why'>,
    options: { readonly port: number },
  ): Promise<ViewServer>
}

export interface ViewServer {
  /** With the token that every request needs. */
  readonly url: string
  close(): Promise<void>
}

/** The package. Throws INVALID_OPTION if it is missing. */
export async function loadView(): Promise<ViewModule> {
  const loaded: ViewModule = await import(installedPackage('@varve/view'))
  return loaded
}

/** Results of the last build whose records a report has. */
const RECORDS_MAX = 50

/** Reads the caches that `--dir` names. */
export class ViewSource {
  readonly #given: string | undefined
  readonly #roots: readonly Root[]

  constructor(given: string | undefined, root: string | undefined) {
    this.#given = given
    this.#roots = candidateRoots(root)
  }

  /** Everything that needs no look at single entries. */
  async overview(): Promise<ViewJson> {
    const caches: ViewCacheJson[] = []
    for (const dir of findReadable(this.#given)) caches.push(await inspect(dir, (open) => overviewOf(dir, open)))
    return {
      format: CLI_JSON_FORMAT,
      createdMs: Date.now(),
      findings: await findingsOf(this.#given),
      remote: remoteOf(),
      caches,
    }
  }

  contents(dir: string, control: EngineControl): Promise<ContentsJson> {
    return this.#inspect(dir, ({ session }) => contentsOf(session, session.call(readHistory)[0], control))
  }

  verify(dir: string, control: EngineControl): Promise<VerifyReport> {
    return this.#inspect(dir, ({ session }) => session.run((store) => store.verify(control)))
  }

  /** The records of these ids; an id without one is left out. */
  why(
    dir: string,
    ids: readonly { readonly task?: string | undefined; readonly id: string }[],
  ): Promise<readonly RecordJson[]> {
    return this.#inspect(dir, async ({ session }) => {
      const tasks = await tasksOf(session, undefined)
      const keys = (id: string): Set<string> => new Set(this.#roots.flatMap((root) => keysOf(id, root, this.#roots)))
      const found = ids.flatMap(({ task, id }) =>
        tasks
          .filter(({ name }) => task === undefined || name === `task:${task}`)
          .flatMap((each) => [...keys(id)].map((key) => recordOf(session, each, key))),
      )
      const described = await describedIn(session)
      const records = await explain(
        session,
        found.filter(({ variants }) => variants.length > 0),
        this.#roots,
      )
      return records.map((record) => {
        const tool = described.of(`${RECORDS_PREFIX}${record.task}`)?.title
        return tool === undefined ? record : { ...record, tool }
      })
    })
  }

  /** Everything, for a page that cannot ask. */
  async report(isVerified: boolean, control: EngineControl): Promise<ViewJson> {
    const { caches, ...overview } = await this.overview()
    const full: ViewCacheJson[] = []
    for (const cache of caches) {
      const contents = await this.contents(cache.dir, control)
      const costly = contents.made.reasons
        .flatMap(({ results }) => results)
        .sort((one, other) => other.workMs - one.workMs)
      const records = await this.why(cache.dir, costly.slice(0, RECORDS_MAX))
      const verify = isVerified ? { verify: await this.verify(cache.dir, control) } : {}
      full.push({ ...cache, contents, records, ...verify })
    }
    return { ...overview, caches: full }
  }

  /** Only for the caches that `--dir` names. */
  async #inspect<T>(dir: string, look: (open: OpenFolder) => Promise<T>): Promise<T> {
    if (findReadable(this.#given).includes(dir)) return inspect(dir, look)
    throw new VarveError('NOT_A_CACHE', `'${dir}' is not one of the caches of this page`)
  }
}

async function overviewOf(dir: string, { session, engine }: OpenFolder): Promise<ViewCacheJson> {
  const stats = await session.run((store) => store.stats())
  return {
    dir,
    engine,
    stats,
    builds: session.call(readHistory),
    damage: session.call((store) => store.status()).damage,
  }
}

/** The remote, without what could be a password: credentials, parameters, and an address that is not valid. */
function remoteOf(): ViewRemoteJson | null {
  const given = process.env['VARVE_REMOTE'] ?? ''
  if (given === '') return null
  if (!URL.canParse(given)) return { store: 'an invalid address in VARVE_REMOTE', offline: isOffline() }
  const { protocol, host, pathname } = new URL(given)
  const place = host === '' && protocol !== 'file:' ? '' : `//${host}${pathname}`
  return { store: `${protocol}${place}`, offline: isOffline() }
}
