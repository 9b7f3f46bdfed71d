/** What `varve <command> --json` writes: one JSON value to standard output. Types for programs that read it. */
import type { StoredContent } from './engine/files.ts'
import type { ErrorCode } from './errors.ts'
import type { FileManifest } from './values/manifest.ts'
import type { FilesReport, RestoreReport } from './files/options.ts'
import type {
  CompactReport, ExportReport, ImportReport, NamespaceStats, RepairReport, Stats, TopItem, VerifyReport,
} from './reports.ts'
import type { Difference } from './task/differences.ts'

/** `format` of every value. New fields may appear in it; a field that goes, or changes its meaning, makes it 2. */
export const CLI_JSON_FORMAT = 1

/** What each command writes, by its name. */
export interface CliJson extends EachCaches {
  readonly top: TopJson
  readonly ls: LsJson
  readonly 'ls --task': LsTaskJson
  readonly get: GetJson
  readonly why: WhyJson
  readonly diff: DiffJson
  readonly export: ExportReport & FormatJson & { readonly file: string }
  readonly import: ImportReport & FormatJson & { readonly dir: string }
  readonly doctor: DoctorJson
  readonly clear: ClearJson
  readonly 'files ls': FilesLsJson
  readonly 'files ls --stored': FilesStoredJson
  readonly 'files restore': FilesRestoreJson
  /** Any of them that fails; its exit code is 2, 3 or 4. */
  readonly error: ErrorJson
}

/** What these commands report of each cache. */
export interface EachReports {
  readonly stats: Stats
  readonly verify: VerifyReport
  readonly repair: RepairReport & { readonly dryRun: boolean }
  readonly compact: CompactReport
  readonly gc: CompactReport & { readonly bytesFreed: number }
  readonly 'files verify': FilesReport
  readonly 'files gc': FilesGcReport
}

/** One report for each cache that `--dir` means, also if that is one. */
export type EachCaches = {
  readonly [Name in keyof EachReports]: FormatJson & { readonly caches: readonly CacheReport<EachReports[Name]>[] }
}

/** A report with the absolute path of its cache. */
export type CacheReport<Report> = Report & { readonly dir: string }

/** In every value. */
export interface FormatJson {
  readonly format: typeof CLI_JSON_FORMAT
}

/** A key as text, or as base64 if its bytes are no text. */
export type KeyJson = { readonly key: string } | { readonly keyBase64: string }

/** The namespace of an entry and its version. */
export interface PlaceJson {
  readonly namespace: string
  readonly version: string
}

export interface TopJson extends FormatJson {
  readonly namespaces: readonly NamespaceStats[]
  readonly entries: readonly (Omit<TopItem, 'keyBase64'> & KeyJson)[]
}

export interface LsJson extends FormatJson {
  readonly entries: readonly (PlaceJson & KeyJson & { readonly valueBytes: number })[]
}

export interface LsTaskJson extends FormatJson {
  readonly ids: readonly {
    readonly task: string
    readonly id: string
    /** Number of stored results. */
    readonly variants: number
    /** When the newest of them was made, milliseconds since 1970. */
    readonly newestMs: number
  }[]
}

export interface GetJson extends FormatJson {
  /** Null if there is no such key; the exit code is 1 then. */
  readonly entry: (PlaceJson & KeyJson & ({ readonly value: string } | { readonly valueBase64: string })) | null
}

export interface WhyJson extends FormatJson {
  /** One for each task that has results for the id; none if no task has, the exit code is 1 then. */
  readonly records: readonly RecordJson[]
}

/** The stored results of an id. */
export interface RecordJson {
  readonly task: string
  readonly id: string
  /** The one that was made last comes first. */
  readonly variants: readonly VariantJson[]
  /** In what the two made last differ: the older before, the newer after. */
  readonly between: readonly Difference[]
}

export interface VariantJson {
  /** When it was made, milliseconds since 1970. */
  readonly timeMs: number
  /** Whether files and environment are as they were and the result is there: with the same inputs, a run would hit. */
  readonly holds: boolean
  /** Whether the result is gone, because the cache is full or damaged. */
  readonly isLost: boolean
  readonly differences: readonly Difference[]
  readonly inputs: readonly { readonly name: string; readonly digest: string }[]
}

export interface DiffJson extends FormatJson {
  readonly equal: boolean
  readonly namespaces: readonly ComparedJson[]
  /** At most `--limit` of the entries that differ. */
  readonly entries: readonly ({ readonly namespace: string; readonly change: ChangeJson } & KeyJson)[]
}

export type ChangeJson = 'onlyLeft' | 'onlyRight' | 'changed'

/** How the entries of a namespace compare; a version is null if there is no such namespace. */
export interface ComparedJson extends Readonly<Record<ChangeJson | 'equal', number>> {
  readonly name: string
  readonly leftVersion: string | null
  readonly rightVersion: string | null
}

export interface DoctorJson extends FormatJson {
  /** False if something is to be fixed; the exit code is 1 then. */
  readonly ok: boolean
  readonly findings: readonly FindingJson[]
}

export interface FindingJson {
  readonly what: string
  readonly found: string
  /** What to fix, and how. */
  readonly advice?: string
  /** What would be better, although nothing is wrong. */
  readonly note?: string
}

export interface ClearJson extends FormatJson {
  readonly dir: string
  readonly namespace: string
  /** Entries removed. */
  readonly entries: number
  readonly bytesBefore: number
  readonly bytesAfter: number
}

export interface FilesLsJson extends FormatJson {
  readonly manifests: readonly (PlaceJson & KeyJson & Pick<FileManifest, 'files'> & {
    /** Files and folders. */
    readonly entries: number
    readonly bytes: number
  })[]
}

export interface FilesStoredJson extends FormatJson {
  readonly contents: readonly StoredContent[]
}

export interface FilesRestoreJson extends FormatJson {
  /** Null if there is no such key; the exit code is 1 then. */
  readonly report: RestoreReport | null
}

/** Contents before and after, and what is left. */
export interface FilesGcReport {
  readonly removed: number
  readonly bytesFreed: number
  readonly contents: number
  readonly bytes: number
}

export interface ErrorJson extends FormatJson {
  readonly error: { readonly code: ErrorCode; readonly message: string }
}
