/**
 * What decides the results of Jest's and Metro's transformers besides the keys of these tools, which name plugins and presets of Babel
 * by their paths at most: installed packages, config files, and the local modules of the transformer and of what configs name.
 *
 * A process has the code in memory as it was at first. Once an input changes, as in watch mode, it uses the cache no more.
 */
import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { isCountedVariable, observe, type Fields } from 'varve/internal'
import { digestOfTexts } from '../build/digest.ts'
import { textOf, environment } from '../host/files.ts'
import { CONFIG_FILES, identityFiles, identityOf, valueText } from '../build/identity.ts'
import { localModules, namedModules } from '../build/modules.ts'
import { Root } from '../build/root.ts'
import { NAMES } from '../build/options.ts'

/** The inputs as they are now. */
export interface Inputs {
  readonly digest: string
  /** Whether they are as this process first found them. */
  readonly areFirst: boolean
}

/** The inputs that this process first found. A changed one remains changed. */
interface FirstInputs {
  readonly digest: string
  /** Names of environment variables, which a global setup of Jest may set while the process runs. */
  readonly variables: readonly string[]
  readonly looks: readonly (() => boolean)[]
  isChanged: boolean
}

const held: Map<string, FirstInputs> = new Map()

/** Part of the keys of a process whose inputs have changed: only Jest's own cache has entries for them, of no use to others. */
const PROCESS = randomUUID()

/** Jest gives each worker its own number. */
const WORKER = 'JEST_WORKER_ID'

/** What a user declares, because installed plugins of Babel read it and nothing else names it. */
export interface DeclaredInputs {
  /**
   * Environment variables that plugins and presets in `node_modules` read, such as those of `transform-inline-environment-variables`.
   * Variables that the code of the project names count without this.
   * @defaultValue `[]`
   */
  readonly env?: readonly string[] | undefined
  /**
   * Files that plugins and presets in `node_modules` read, relative to the project, such as the `.env` of react-native-dotenv.
   * @defaultValue `[]`
   */
  readonly files?: readonly string[] | undefined
}

/** The checks of these options. */
export const DECLARED_FIELDS: Fields<DeclaredInputs> = { env: NAMES, files: NAMES }

/** What the inputs are found from. */
interface Source extends DeclaredInputs {
  /** Files of transformers. */
  readonly transformers?: readonly string[]
  /** Directories of the project, of which the first has the declared files. */
  readonly folders: readonly string[]
  /** The text of the options of the transformers. */
  readonly config?: string
}

/** The inputs of transformers. */
export function inputsOf(source: Source): Inputs {
  const id = JSON.stringify(source)
  const first = held.get(id) ?? lookAt(source)
  held.set(id, first)
  first.isChanged ||= !first.looks.every((isSame) => isSame())
  const { digest, variables } = first.isChanged ? lookAt(source) : first
  const values = variables.map((name) => `${name}${valueText(environment()[name])}`)
  return { digest: digestOfTexts([digest, ...values, first.isChanged ? PROCESS : '']), areFirst: !first.isChanged }
}

function lookAt({ transformers = [], folders, config = '', env = [], files = [] }: Source): FirstInputs {
  const roots = folders.map((folder) => new Root(folder))
  const configs = folders.flatMap((folder) => [
    ...CONFIG_FILES.map((name) => join(folder, name)),
    ...namedModules(config, folder),
  ])
  const { paths, manifests, variables } = localModules([...transformers, ...configs])
  const declared = files.map((path) => resolve(folders[0] ?? '', path))
  const modules = [...new Set([...transformers, ...paths, ...manifests, ...declared])]
  const looks = [...roots.flatMap((root) => identityFiles({}, root)), ...modules].map(observe)
  const identities = roots.flatMap((root) => Object.values(identityOf({ cacheKey: '' }, root)).map(valueText))
  const texts = modules.map((path) => textOf(path, 'latin1') ?? '-')
  const counted = variables.filter((name) => name !== WORKER && isCountedVariable(name, false))
  const all = [...new Set([...counted, ...env])]
  return { digest: digestOfTexts([...identities, ...texts]), variables: all, looks, isChanged: false }
}
