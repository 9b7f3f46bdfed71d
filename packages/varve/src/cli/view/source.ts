/** `varve view`: what its page asks of the caches, and the package that has the page. Each call opens a cache read-only and closes it, so that files stay free. */
import {
  CLI_JSON_FORMAT,
  type ContentsJson,
  type RecordJson,
  type ViewCacheJson,
  type ViewJson,
  type ViewRemoteJson,
} from '../../cli-json.ts'
import type { EngineControl } from '../../engine/engine.ts'
import { VarveError } from '../../errors.ts'
import { readHistory } from '../../history/history.ts'
import { installedPackage } from '../../host/installed.ts'
import type { Root } from '../../inputs/root.ts'
import { isOffline } from '../../remote/attach.ts'
import type { VerifyReport } from '../../reports.ts'
import { findingsOf } from '../doctor.ts'
import { findReadable, inspect, type OpenFolder } from '../open/folder.ts'
import { candidateRoots, keysOf, recordOf, tasksOf } from '../open/tasks.ts'
import { explain } from '../why.ts'
import { contentsOf } from './contents.ts'

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
      return explain(
        session,
        found.filter(({ variants }) => variants.length > 0),
        this.#roots,
      )
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
