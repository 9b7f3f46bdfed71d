/**
 * The stored variants of a task: records and results, in two namespaces. Damaged entries never fail a read, and a result
 * that cannot be stored never fails a build: it is a miss next time.
 */
import type { Codec } from '../values/codec.ts'
import { toVarveError, VarveError } from '../errors.ts'
import type { Namespace } from '../session/namespace.ts'
import type { ReadScope } from '../reads/scope.ts'
import type { Session } from '../session/session.ts'
import { digestOfBytes } from '../inputs/digest.ts'
import type { Files } from '../inputs/files.ts'
import { dependsOnSame, readVariants, resultKey, UNDEFINED_RESULT, type Variant, withVariant } from './record.ts'

/** What a shelf is made of. */
export interface ShelfParts<V> {
  /** Name of the task. */
  readonly task: string
  readonly session: Session
  readonly records: Namespace<unknown>
  readonly results: Namespace<V>
  readonly codec: Codec<V>
  /** Variants kept per id. */
  readonly variants: number
  readonly readOnly: boolean
  /** What the work of this task reads, if that is tracked. */
  readonly scope: ReadScope | undefined
}

/** The variants of one task. */
export class Shelf<V> {
  readonly #parts: ShelfParts<V>

  constructor(parts: ShelfParts<V>) {
    this.#parts = parts
  }

  get codec(): Codec<V> {
    return this.#parts.codec
  }

  /** Differs for results of another version or codec. */
  get version(): string {
    return this.#parts.results.fullVersion
  }

  /** The variants of an id, those used last first. */
  variants(key: string): readonly Variant[] {
    const record = this.#parts.records.get(key)
    return record === undefined ? [] : readVariants(record)
  }

  /** A variant's result, undefined if it is lost. */
  result(key: string, { result }: Variant): { readonly value: V } | undefined {
    if (result === UNDEFINED_RESULT) return { value: undefined as V }
    const value = this.#parts.results.get(resultKey(key, result))
    return value === undefined ? undefined : { value }
  }

  /**
   * Puts a result with all its dependencies. False if it could not be stored. Throws INVALID_ARGUMENT for a result that its
   * codec refuses, because a hit would return another value.
   */
  put(key: string, made: Omit<Variant, 'result'>, value: V): boolean {
    return this.#write(() => {
      const result = this.#putResult(key, value)
      const before = this.variants(key) // read again: other runs of this id may have put theirs meanwhile
      const after = withVariant(
        before.filter((variant) => !this.#isReplaced(variant, made)),
        { ...made, result },
        0,
        this.#parts.variants,
      )
      this.#parts.records.put(key, after)
      for (const variant of before) {
        const isKept = variant.result === UNDEFINED_RESULT || after.some((kept) => kept.result === variant.result)
        if (!isKept) this.#parts.results.delete(resultKey(key, variant.result))
      }
    })
  }

  /**
   * Call after each hit, with the index of the variant. Renews the stamps of files that only moved in time, and saves a
   * variant from going next: only one in the older half is taken to the front, so that a build which alternates between
   * two writes nothing.
   */
  used(key: string, variant: Variant, index: number, moved: Files | undefined): void {
    const isOld = index > 0 && index >= this.#parts.variants / 2
    if (moved === undefined && !isOld) return
    const renewed =
      moved === undefined ? variant : { ...variant, files: variant.files.map((file) => moved.record(file[0]) ?? file) }
    const place = isOld ? 0 : index
    this.#write(() =>
      this.#parts.records.put(key, withVariant(this.variants(key), renewed, place, this.#parts.variants)),
    )
  }

  /** Of two that differ only in the generation of their reads, the older one stays if it may hold again: on another branch. */
  #isReplaced(variant: Variant, made: Omit<Variant, 'result'>): boolean {
    const { scope } = this.#parts
    if (scope === undefined || variant.reads === made.reads || !dependsOnSame(variant, made)) return false
    return variant.reads === undefined || scope.verdict(variant.reads) !== 'changed'
  }

  #putResult(key: string, value: V): string {
    if (value === undefined) return UNDEFINED_RESULT
    const { codec, results } = this.#parts
    const blobs = results.blobsIn(value)
    const encoded = codec.encode(value)
    const digest = digestOfBytes(encoded)
    results.putEncoded(resultKey(key, digest), encoded, blobs)
    return digest
  }

  #write(write: () => void): boolean {
    const { session, readOnly, task } = this.#parts
    if (readOnly) return false
    try {
      write()
      return true
    } catch (error) {
      const failure = toVarveError(error)
      const { code, message } = failure
      if (code === 'INVALID_ARGUMENT') throw failure
      // A cache that was closed while the work ran has no listener for warnings.
      const warning = new VarveError(code, `a result of task '${task}' is not stored: ${message}`, { cause: error })
      if (code !== 'CLOSED') session.warn(warning, `task ${task}`)
      return false
    }
  }
}
