/**
 * A host that never closes its compiler still gets its entries written: when nothing else is left to do, and as far as
 * that is possible without waiting, when it calls `process.exit()`.
 */

/** What has something to write. */
interface Writer {
  write(): unknown
  /** Without waiting. */
  writeNow(): void
}

const unwritten: Set<Writer> = new Set()
/** Each tries once when nothing else is left: one that fails must not keep the process. */
const untried: Set<Writer> = new Set()
let isListening = false

/** Has `writer` write before the process ends by itself. */
export function writeBeforeExit(writer: Writer): void {
  // One for the process: a watching compiler comes here with each build, and Node warns of many listeners.
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

/** `writer` has nothing left to write. */
export function isWritten(writer: Writer): void {
  unwritten.delete(writer)
  untried.delete(writer)
}
