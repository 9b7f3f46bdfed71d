/** The namespaces of one open cache, by name. A name has one version and one codec as long as the cache is open. */
import { VarveError } from '../errors.ts'
import { Namespace } from '../session/namespace.ts'
import type { Session } from '../session/session.ts'
import type { Asked } from '../task/make.ts'
import { onceIn } from '../task/in-flight.ts'
import { type CodecName, codecOf } from '../values/codec.ts'
import { joinVersions } from '../values/version.ts'

/** Opens each namespace once. */
export class Namespaces {
  readonly #session: Session
  readonly #place: string
  readonly #open: Map<string, { readonly namespace: Namespace<unknown>; readonly asked: Asked }> = new Map()

  /** `place` distinguishes the cache from others of this process. */
  constructor(session: Session, place: string) {
    this.#session = session
    this.#place = place
  }

  /** The namespace of that name. `asked` describes the caller's request in the error for another version or codec. */
  open(name: string, version: string, codecName: CodecName, asked: Asked): Namespace<unknown> {
    const codec = codecOf<unknown>(codecName)
    const fullVersion = joinVersions(this.#session.version, version, codec.tag)
    const known = this.#open.get(name)
    if (known === undefined) {
      const namespace = new Namespace(
        this.#session,
        { name, version, fullVersion, codec },
        onceIn(this.#session, this.#place),
      )
      this.#open.set(name, { namespace, asked })
      return namespace
    }
    if (known.namespace.fullVersion === fullVersion) return known.namespace
    const [open, now] = [known.asked, asked].map((one) => `version '${one.version}' and codec '${one.codec}'`)
    const wayOut = 'Pass the same options each time, or keep the object that the first call returned'
    throw new VarveError('INVALID_ARGUMENT', `${asked.what} is open with ${open}, not with ${now}. ${wayOut}`)
  }
}
