/** Types of `cache.exportJson` and `cache.importJson`. Their code loads at the first call. */
export type { ExportReport, ImportReport } from '../reports.ts'
export type { ExportOptions, ImportOptions } from './transfer.ts'
export type { ExportTarget, ImportSource } from './streams.ts'
