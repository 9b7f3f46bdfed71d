/** Checks what a run asks for and hashes it. Hot: a hit pays for it. */
import { VarveError } from '../errors.ts'
import { BOOLEAN, checkOptions, type Fields, FUNCTION, STRING, wrongValue } from '../checks/validate.ts'
import { digestOfText } from '../inputs/digest.ts'
import type { Asked } from './lookup.ts'
import { type Digests, digestsOf } from './named.ts'
import type { TaskDependencies, TaskInputs, TaskRequest } from './options.ts'
import type { Root } from '../inputs/root.ts'

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields of TaskDependencies for `checkOptions`. */
export const DEPENDENCY_FIELDS: Fields<TaskDependencies> = {
  inputs: { expected: 'an object of named inputs', accepts: isObject },
  files: { expected: 'an array of paths', accepts: isTexts },
  env: { expected: 'an array of names of environment variables', accepts: isTexts },
}
const REQUEST_FIELDS: Fields<TaskRequest> = {
  id: { expected: 'a string that is not empty', accepts: (value) => typeof value === 'string' && value !== '' },
  ...DEPENDENCY_FIELDS,
  accept: FUNCTION,
  about: STRING,
  isGiven: BOOLEAN,
  explain: FUNCTION,
}

/** Longer ids are stored as their beginning and a digest: a key has room for 65,535 bytes, of three a letter at most. */
const ID_LENGTH_MAX = 8192
const ID_LENGTH_KEPT = 256

const NONE: readonly string[] = []

/** What a request comes to; `shared` are the inputs of the task. Throws INVALID_OPTION or INVALID_ARGUMENT. */
export function askedOf(call: string, request: TaskRequest, shared: Digests, root: Root): Asked {
  checkOptions(call, request, REQUEST_FIELDS)
  if (request.id === undefined) throw wrongValue('id', undefined, 'what is worked on, such as the path of a module')
  const { id, inputs, files = NONE, env = NONE, about, isGiven, explain } = request
  return {
    key: keyOf(id, root),
    inputs: inputs === undefined ? shared : merged(inputs, shared),
    env,
    files: files.length === 0 ? files : files.map((path) => root.relative(path)),
    about,
    isGiven,
    explain,
  }
}

/** The key of an id's record. */
export function keyOf(id: string, root: Root): string {
  const relative = root.relativeId(id)
  return relative.length <= ID_LENGTH_MAX
    ? relative
    : `${relative.slice(0, ID_LENGTH_KEPT)}... ${digestOfText(relative)}`
}

/** The digests of `inputs` and of the task's own, sorted by name. */
function merged(inputs: TaskInputs, shared: Digests): Digests {
  const own = digestsOf(inputs)
  if (shared.length === 0) return own
  const digests: string[] = []
  let next = 0
  for (let i = 0; i < own.length; i += 2) {
    const name = own[i] ?? ''
    while (next < shared.length && (shared[next] ?? '') < name) digests.push(shared[next++] ?? '', shared[next++] ?? '')
    if (shared[next] === name)
      throw new VarveError(
        'INVALID_ARGUMENT',
        `input '${name}' is an input of the whole task already; take another name`,
      )
    digests.push(name, own[i + 1] ?? '')
  }
  return digests.concat(shared.slice(next))
}
