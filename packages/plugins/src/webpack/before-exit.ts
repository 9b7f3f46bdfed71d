/** A host that never closes its compiler still gets its entries written, when nothing else is left to do. */

/** What has something to write. */
interface Writer {
  write(): unknown
}

const unwritten: Set<Writer> = new Set()

/** Has `writer` write before the process ends by itself. */
export function writeBeforeExit(writer: Writer): void {
  if (unwritten.size === 0) process.once('beforeExit', () => unwritten.forEach((one) => one.write()))
  unwritten.add(writer)
}

/** `writer` is writing. */
export function isWritten(writer: Writer): void {
  unwritten.delete(writer)
}
