/** What a report is made of. */
export interface Report {
  readonly title: string
  readonly lines: readonly string[]
}

/** A table as lines of equal columns. */
export function tableOf(title: string, rows: readonly (readonly string[])[]): Report {
  const widths = rows.reduce<number[]>((all, row) => row.map((cell, index) => Math.max(cell.length, all[index] ?? 0)), [])
  const lines = rows.map((row) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ').trimEnd())
  return { title, lines: [title, ...lines] }
}
