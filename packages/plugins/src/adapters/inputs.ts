/**
 * What decides the results of Jest's and Metro's transformers besides the keys of these tools, which name plugins and presets of Babel
 * by their paths at most: installed packages, config files, and the local modules of the transformer and of what configs name.
 *
 * A process has the code in memory as it was at first. Once an input changes, as in watch mode, it uses the cache no more.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { isCountedVariable, observe } from 'varve/reads'
import { digestOfTexts } from '../build/digest.ts'
import { textOf } from '../build/files.ts'
import { CONFIG_FILES, identityFiles, identityOf } from '../build/identity.ts'
import { localModules, namedModules } from '../build/modules.ts'
import { Root } from '../build/root.ts'

/** The inputs as they are now. */
export interface Inputs {
  readonly digest: string
  /** Whether they are as this process first found them. */
  readonly areFirst: boolean
}

/** The inputs that this process first found. A changed one remains changed. */
interface Held {
  readonly digest: string
  /** Names of environment variables, which a global setup of Jest may set while the process runs. */
  readonly variables: readonly string[]
  readonly looks: readonly (() => boolean)[]
  isChanged: boolean
}

const held: Map<string, Held> = new Map()

/** Part of the keys of a process whose inputs have changed: only Jest's own cache has entries for them, of no use to others. */
const PROCESS = randomUUID()

/** Jest gives each worker its own number. */
const WORKER = 'JEST_WORKER_ID'

/** The inputs of transformers in these files, for a project with these directories. `config` is the text of their options. */
export function inputsOf(files: readonly string[], folders: readonly string[], config = ''): Inputs {
  const id = JSON.stringify([files, folders, config])
  const first = held.get(id) ?? lookAt(files, folders, config)
  held.set(id, first)
  first.isChanged ||= !first.looks.every((isSame) => isSame())
  const { digest, variables } = first.isChanged ? lookAt(files, folders, config) : first
  const values = variables.map((name) => `${name}=${process.env[name] ?? ''}`)
  return { digest: digestOfTexts([digest, ...values, first.isChanged ? PROCESS : '']), areFirst: !first.isChanged }
}

function lookAt(files: readonly string[], folders: readonly string[], config: string): Held {
  const roots = folders.map((folder) => new Root(folder))
  const configs = folders.flatMap((folder) => [
    ...CONFIG_FILES.map((name) => join(folder, name)),
    ...namedModules(config, folder),
  ])
  const { paths, manifests, variables } = localModules([...files, ...configs])
  const modules = [...new Set([...files, ...paths, ...manifests])]
  const looks = [...roots.flatMap((root) => identityFiles({}, root)), ...modules].map(observe)
  const identities = roots.flatMap((root) => Object.values(identityOf({ cacheKey: '' }, root)))
  const texts = modules.map((path) => textOf(path, 'latin1') ?? '-')
  const counted = variables.filter((name) => name !== WORKER && isCountedVariable(name, false))
  return { digest: digestOfTexts([...identities, ...texts]), variables: counted, looks, isChanged: false }
}
