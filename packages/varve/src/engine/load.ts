/**
 * The one place that decides which engine runs. `VARVE_ENGINE` in the environment beats the option; `auto` uses the
 * native engine if its addon loads, otherwise WebAssembly, and reports why.
 */
import type * as fs from 'node:fs'
import { builtin } from '../host/builtin.ts'
import type { Host } from '../../generated/varve_wasm.js'
import type { EngineChoice } from '../options.ts'
import { EngineFailure } from './answers.ts'
import type { Engine, EngineName } from './engine.ts'
import { toVarveError, VarveError } from '../errors.ts'
import { refusal, variable } from '../host/permission.ts'

/** What the caller wants. */
export interface EngineRequest {
  readonly engine?: EngineChoice | undefined
  /** WebAssembly on files that exist in the memory of this thread only. */
  readonly inMemory?: boolean | undefined
  /** Directory of the cache, if that is known. */
  readonly dir?: string | undefined
}

/** The engine, and why this one, as a sentence for `status()`. */
export interface LoadedEngine<Name extends EngineName = 'native' | 'wasm'> {
  readonly engine: Engine<Name>
  readonly reason: string
  /** Its files exist in this process only. */
  readonly inMemory?: true
  /** The addon of this platform is not installed properly. Only the first engine that this thread loads has it. */
  readonly warning?: VarveError
  /** Why this process can start none; only `loadEngineOrNone` returns it. */
  readonly lacking?: VarveError
}

/** Engines that were loaded before: importing a module again takes 30 us, a third of the time to open a small cache. */
let native: Engine | undefined
let wasm: Engine | undefined

/** Why the addon of this platform is not available, although one exists. */
let missing: VarveError | undefined

const CHOICES: ReadonlySet<string> = new Set(['native', 'wasm', 'auto'])

/**
 * Loads an engine; in a process that cannot start WebAssembly, one that has entries in memory only. Throws ENGINE_UNAVAILABLE for
 * `engine: 'native'` and on an unsupported Node.js.
 */
export async function loadEngineOrNone(request: EngineRequest): Promise<LoadedEngine<EngineName>> {
  try {
    return await loadEngine(request)
  } catch (error) {
    if (!(error instanceof EngineFailure) || error.code !== 'ENGINE_UNAVAILABLE') throw error
    const { withoutEngine } = await import('./without.ts')
    const lacking = toVarveError(error)
    return { engine: withoutEngine(lacking), reason: `no engine: ${error.message}`, inMemory: true, lacking }
  }
}

/** Loads an engine. Throws ENGINE_UNAVAILABLE if the requested one cannot be loaded. */
export async function loadEngine(request: EngineRequest): Promise<LoadedEngine> {
  checkNode()
  const forced = variable('VARVE_ENGINE')
  if (forced !== undefined && forced !== '' && !CHOICES.has(forced)) {
    throw new VarveError('INVALID_OPTION', `VARVE_ENGINE is '${forced}'; set it to native or wasm, or unset it`)
  }
  if (request.inMemory === true)
    return { engine: await memoryEngine(), reason: 'WebAssembly in memory: inMemory: true', inMemory: true }
  const isForced = forced !== undefined && forced !== '' && forced !== 'auto'
  const choice = isForced ? forced : (request.engine ?? 'auto')
  const because = isForced ? `VARVE_ENGINE=${forced}` : `engine: '${choice}'`
  if (choice === 'wasm') return wasmBecause(because, request.dir)
  // A host that limits access to files cannot control the addon, so the addon then runs only on request.
  const { dir } = request
  const refused = choice === 'native' || dir === undefined ? undefined : (refusal('read', dir) ?? refusal('write', dir))
  const forbidden = addonsForbidden() ?? refused?.why
  if (forbidden === undefined && choice !== 'native' && missing !== undefined) return wasmBecause(missing.message, dir)
  if (forbidden === undefined) {
    try {
      native ??= (await import('./native.ts')).loadNative()
      return { engine: native, reason: choice === 'native' ? `native: ${because}` : 'native: the addon loaded' }
    } catch (error) {
      const text = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
      if (choice === 'native') throw unavailable(because, text, error)
      if (!(error instanceof VarveError)) return wasmBecause(`the addon could not be loaded: ${text}`, dir)
      missing = error
      return { ...(await wasmBecause(text, dir)), warning: slower(error) }
    }
  }
  if (choice === 'native') throw unavailable(because, forbidden)
  return wasmBecause(forbidden, dir)
}

/** Throws on a Node.js that lacks what Varve needs, and would fail later with a message that does not name the cause. */
function checkNode(): void {
  const { versions } = globalThis.process ?? {}
  if (versions?.node === undefined || 'webcontainer' in versions || builtin('node:module') !== undefined) return
  const needed = 'Varve needs Node.js 20.19 or newer (of the 22 line: 22.12 or newer)'
  throw new VarveError('ENGINE_UNAVAILABLE', `Node.js ${versions.node} is not supported: ${needed}`)
}

/** Why no addon may be loaded here; undefined if one may. */
function addonsForbidden(): string | undefined {
  const host = globalThis.process
  if (host?.versions?.node === undefined) return 'this host is not Node.js'
  if ('webcontainer' in host.versions) return 'WebContainers load no addons'
  const flags = [...host.execArgv, ...(variable('NODE_OPTIONS') ?? '').split(/\s+/)]
  return flags.includes('--no-addons') ? 'node runs with --no-addons' : undefined
}

async function wasmBecause(why: string, dir: string | undefined): Promise<LoadedEngine> {
  const files = builtin('node:fs')
  if (files === undefined) return wasmInBrowser(why, dir)
  wasm ??= await wasmOn(files)
  return { engine: wasm, reason: `WebAssembly: ${why}` }
}

/** Without `node:fs`: on the private files of a browser if this is a dedicated worker, otherwise in memory. */
async function wasmInBrowser(why: string, dir: string | undefined): Promise<LoadedEngine> {
  const [{ hasPrivateFiles, privateEngine }, { wasmEngine }] = await Promise.all([
    import('./opfs/engine.ts'),
    import('./wasm.ts'),
  ])
  let without = 'there is no node:fs'
  if (dir !== undefined && hasPrivateFiles()) {
    try {
      return {
        engine: await privateEngine(dir, wasmEngine),
        reason: `WebAssembly: ${why}, its files are private to the origin`,
      }
    } catch (error) {
      without = `its files cannot be used: ${error instanceof Error ? error.message : String(error)}`
    }
  }
  return { engine: await memoryEngine(), reason: `WebAssembly in memory: ${why}, and ${without}`, inMemory: true }
}

async function wasmOn(files: typeof fs): Promise<Engine> {
  const [{ wasmEngine }, { nodeHost }, { compactInWorker }] = await Promise.all([
    import('./wasm.ts'),
    import('./host-node.ts'),
    import('./compact-elsewhere.ts'),
  ])
  const hostOf = (directory: string, name: string): Host => nodeHost(files, `${directory}/${name}`)
  return wasmEngine((directory, name) => {
    const folder = `${directory}/${name}`
    return {
      host: nodeHost(files, folder),
      folder,
      compactElsewhere: (full, control, options, module) =>
        compactInWorker({ directory, folder, module }, full, control, options),
    }
  }, hostOf)
}

async function memoryEngine(): Promise<Engine> {
  const [{ wasmEngine }, { memoryHost }] = await Promise.all([import('./wasm.ts'), import('./host-memory.ts')])
  const files = builtin('node:fs')
  const onDisk = files === undefined ? undefined : (await import('./host-node.ts')).nodeHost
  const layerHost = (path: string): Host =>
    files === undefined || onDisk === undefined ? memoryHost(path) : onDisk(files, path)
  return wasmEngine(
    (directory, name) => ({ host: memoryHost(`${directory}/${name}`) }),
    (directory, name) => layerHost(`${directory}/${name}`),
  )
}

function slower(cause: VarveError): VarveError {
  const effect = 'Varve uses its WebAssembly engine, which takes about twice the CPU time'
  return new VarveError(cause.code, `${effect}: ${cause.message}`, { cause })
}

function unavailable(because: string, why: string, cause?: unknown): VarveError {
  const way = "use engine: 'auto', or unset VARVE_ENGINE, to fall back to WebAssembly"
  return new VarveError('ENGINE_UNAVAILABLE', `the native engine (${because}) is not available: ${why}; ${way}`, {
    cause,
  })
}
