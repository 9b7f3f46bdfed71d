/**
 * The C library of this process, on Linux. The program file names the loader of that library near its start; `process.report`,
 * the usual way, costs 4 ms, which is more than opening a cache.
 */
import { builtin } from '../host/builtin.ts'

const HEAD_BYTES = 4096

export function libcName(): 'gnu' | 'musl' {
  const head = programHead()
  if (head.includes('/ld-musl-')) return 'musl'
  if (head.includes('/ld-linux')) return 'gnu'
  const report = reported()
  const header: unknown =
    typeof report === 'object' && report !== null && 'header' in report ? report.header : undefined
  return typeof header === 'object' && header !== null && 'glibcVersionRuntime' in header ? 'gnu' : 'musl'
}

/** A host that refuses both ways is Deno, whose programs for Linux need glibc. */
function reported(): unknown {
  try {
    return process.report?.getReport()
  } catch {
    return { header: { glibcVersionRuntime: '' } }
  }
}

/** The first bytes of the running program, empty if they cannot be read. */
function programHead(): string {
  const files = builtin('node:fs')
  try {
    const file = files?.openSync(process.execPath, 'r')
    if (files === undefined || file === undefined) return ''
    try {
      const head = Buffer.alloc(HEAD_BYTES)
      return head.toString('latin1', 0, files.readSync(file, head, 0, HEAD_BYTES, 0))
    } finally {
      files.closeSync(file)
    }
  } catch {
    return ''
  }
}
