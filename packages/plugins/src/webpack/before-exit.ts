/**
 * Writes entries for hosts that never close their compiler. On `beforeExit` everything is written; after `process.exit()`,
 * only what can be written synchronously.
 */

/** A layer with pending entries. */
interface Writer {
  write(): unknown
  /** Writes synchronously. */
  writeNow(): void
}

const unwritten: Set<Writer> = new Set()
/** Each writer tries once on `beforeExit`: one that fails must not keep the process alive. */
const untried: Set<Writer> = new Set()
let isListening = false

/** Lets `writer` write before the process exits. */
export function writeBeforeExit(writer: Writer): void {
  // One listener per process: a watching compiler gets here with each build, and Node warns about many listeners.
  if (!isListening) {
    process.on('beforeExit', () => {
      const writers = [...untried]
      untried.clear()
      for (const one of writers) one.write()
    })
    process.on('exit', () => {
      for (const one of unwritten) one.writeNow()
    })
  }
  isListening = true
  unwritten.add(writer)
  untried.add(writer)
}

/** Removes a writer that has nothing left to write. */
export function markWritten(writer: Writer): void {
  unwritten.delete(writer)
  untried.delete(writer)
}
