/** A host that never closes its compiler still gets its entries written, when nothing else is left to do. */

/** What has something to write. */
interface Writer {
  write(): unknown
}

const unwritten: Set<Writer> = new Set()
let isListening = false

/** Has `writer` write before the process ends by itself. */
export function writeBeforeExit(writer: Writer): void {
  // One for the process: a watching compiler comes here with each build, and Node warns of many listeners.
  if (!isListening) process.on('beforeExit', () => unwritten.forEach((one) => one.write()))
  isListening = true
  unwritten.add(writer)
}

/** `writer` is writing. */
export function isWritten(writer: Writer): void {
  unwritten.delete(writer)
}
