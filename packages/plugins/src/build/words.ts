/** Why a call of a plugin was not answered from the cache, in words. */
import { relative } from 'node:path'
import type { TaskContext, TaskRequest } from 'varve'
import type { Call, Caller, InputParts } from './call.ts'
import { EXPLAINED, identityParts } from './identity.ts'
import type { CachedOptions } from './options.ts'
import type { Root } from './root.ts'
import type { Session } from './session.ts'

/** What the words of a call are made from. */
export interface Explained {
  readonly root: Root
  readonly session: Session
  /** The parts of the inputs that all calls of the plugin share. */
  readonly partsOf: InputParts
}

type Asked = Pick<Call<unknown, unknown>, 'id' | 'about' | 'parts' | 'inputs'>

/** The parts of the inputs that all calls of a plugin share. */
export function sharedParts(caller: Caller, options: CachedOptions, root: Root): InputParts {
  const own = identityParts(options, root)
  return (input) => {
    const parts = own[input]
    return (
      caller.parts?.(input, root) ?? (parts && { key: input === 'packages' ? input : `${input} ${caller.name}`, parts })
    )
  }
}

/** Words for an input of a call that has changed; undefined for the words of the task. */
export function explainer(call: Asked, { root, session, partsOf }: Explained): NonNullable<TaskRequest['explain']> {
  return (input, before, after) => {
    if (input === 'code') return `${relative(root.folder, call.about ?? call.id).replaceAll('\\', '/')} changed`
    if (before !== undefined && after !== undefined) return `${input.replace(/^env /, '')} ${before} -> ${after}`
    const known = call.parts?.(input, root) ?? partsOf(input, root)
    return known && session.explanations?.words(known.key, known.parts)
  }
}

/** Called with a call whose result is stored: the next build compares with the parts of its inputs. */
export function noteParts({ inputs, parts }: Asked, { root, session, partsOf }: Explained): void {
  for (const input of [...EXPLAINED, ...Object.keys(inputs)]) {
    const known = parts?.(input, root) ?? partsOf(input, root)
    if (known !== undefined) session.explanations?.note(known.key, known.parts)
  }
}

/** The reason of a miss for the record of the build, which has the words of inputs and variables: all modules have the same. */
export function reasonOf({ reason, why }: TaskContext): string {
  if (reason === 'input code') return 'file'
  return /^(?:input|env) /.test(reason) ? `changed ${why.replace(/ changed$/, '')}` : reason
}
