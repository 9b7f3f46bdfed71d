/** What the store of a remote answers: capabilities, heads, time, and a probe of writing. */
import { randomUUID } from 'node:crypto'
import { VarveError } from 'varve'
import type { RemoteFinding } from './finding.ts'
import { bytesOf } from '../layer.ts'
import { manifestsOf } from '../pull.ts'
import { headName, type Remote, withinBudget } from '../remote.ts'
import { clockAheadMs } from '../stores/http.ts'
import type { BlobStore } from '../stores/store.ts'

/** Round trips that are measured; the shortest counts. */
const TRIPS = 3

/** A difference of clocks that is reported; the header Date has whole seconds, and its way takes time. */
const CLOCK_NOTE_MS = 30_000

/** S3 refuses requests whose time differs by 15 minutes; a machine that is this far off will be soon. */
const CLOCK_ADVICE_MS = 300_000

/** Findings on the store of a remote. Nothing is written unless the remote has a signing key. */
export async function checkStore(remote: Remote): Promise<RemoteFinding[]> {
  const { store } = remote
  const findings: RemoteFinding[] = [{ what: 'store', found: `${store.label}; ${abilitiesOf(store)}` }]
  try {
    await withinBudget(remote, undefined, async (signal) => {
      findings.push(
        ...(await heads(remote, signal)),
        ...(await place(remote, signal)),
        ...(await timing(remote, signal)),
      )
      if (remote.signingKey !== undefined) findings.push(await writing(remote, signal))
    })
  } catch (error) {
    if (!(error instanceof VarveError)) throw error
    findings.push({ what: 'connection', found: error.code, advice: error.message })
  }
  return [...findings, ...clock(store)]
}

function abilitiesOf({ capabilities: { compareAndSwap, list, delete: canDelete } }: BlobStore): string {
  const head = compareAndSwap ? 'has a head' : 'has no head, so name commits with --commit'
  return `${head}; ${list && canDelete && compareAndSwap ? 'gc works' : 'no gc'}`
}

async function heads(remote: Remote, signal: AbortSignal): Promise<RemoteFinding[]> {
  const startMs = performance.now()
  const found = await manifestsOf(remote, [], signal)
  const connection = {
    what: 'connection',
    found: `answers, the first time within ${Math.ceil(performance.now() - startMs)} ms`,
  }
  const scopes = found.map(({ scope, manifest }) => {
    if (manifest === undefined) return { what: 'scope', found: `${scope.name}: nothing is published` }
    const { generation, layers } = manifest
    return {
      what: 'scope',
      found: `${scope.name}: generation ${generation}, ${layers.length} layers, ${bytesOf(layers)} bytes`,
    }
  })
  return [connection, ...scopes]
}

/** A writer may make the place; `heads` rejects for a reader. */
async function place({ store }: Remote, signal: AbortSignal): Promise<RemoteFinding[]> {
  const missing = await store.missing?.({ signal })
  if (missing === undefined) return []
  return [{ what: 'place', found: 'nothing has been written there so far', note: missing }]
}

async function timing({ store, scopes: [scope] }: Remote, signal: AbortSignal): Promise<RemoteFinding[]> {
  let shortestMs = Infinity
  for (let trip = 0; trip < TRIPS; trip++) {
    const startMs = performance.now()
    await store.head(headName(scope), { signal })
    shortestMs = Math.min(shortestMs, performance.now() - startMs)
  }
  return [{ what: 'round trip', found: `${shortestMs.toFixed(1)} ms` }]
}

/** Writes an object, reads it and removes it. Its name is that of no scope. */
async function writing(
  { store, scopes: [{ domain }], signingKey }: Remote,
  signal: AbortSignal,
): Promise<RemoteFinding> {
  // A store that cannot delete keeps one probe for each key.
  const name = `v1/${domain}/probe/${store.capabilities.delete ? randomUUID() : (signingKey?.id ?? '')}`
  const bytes = new Uint8Array(Buffer.from('written by varve remote doctor'))
  const isWritten =
    (await failureOf(store.put(name, bytes, { signal }))) ?? (await failureOf(readBack(store, name, bytes, signal)))
  const isRemoved = isWritten ?? (await failureOf(store.delete?.([name], { signal })))
  if (isWritten !== undefined)
    return { what: 'writing', found: 'refused or lost', advice: `${isWritten}. Readers need VARVE_REMOTE_MODE=read` }
  if (isRemoved !== undefined)
    return { what: 'writing', found: 'works, deleting does not', note: `${isRemoved}. 'npx varve remote gc' needs it` }
  return {
    what: 'writing',
    found: store.capabilities.delete ? 'an object was written, read and removed' : 'an object was written and read',
  }
}

async function readBack(store: BlobStore, name: string, written: Uint8Array, signal: AbortSignal): Promise<void> {
  const found = await store.get(name, { bytesMax: written.length, signal })
  if (found !== undefined && Buffer.from(found.bytes).equals(written)) return
  throw new VarveError('REMOTE_UNAVAILABLE', `'${name}' was written, and a read does not return it`)
}

/** The message of a call that fails; undefined if it does not. */
async function failureOf(call: Promise<unknown> | undefined): Promise<string | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof VarveError) return error.message
    throw error
  }
}

function clock(store: BlobStore): RemoteFinding[] {
  const aheadMs = clockAheadMs(store)
  if (aheadMs === undefined) return []
  const differenceMs = Math.abs(aheadMs)
  const found = `${Math.round(differenceMs / 1000)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine`
  if (differenceMs < CLOCK_NOTE_MS) return [{ what: 'clock of the server', found: 'agrees with that of this machine' }]
  const advice = 'set the clock of this machine: S3 refuses requests whose time differs by more than 15 minutes'
  return [{ what: 'clock of the server', found, ...(differenceMs < CLOCK_ADVICE_MS ? { note: advice } : { advice }) }]
}
