/** Types of the JSON that `varve <command> --json` writes: one value to standard output. */
import type { StoredContent } from './engine/engine.ts'
import type { ErrorCode } from './errors.ts'
import type { TrustDomain } from './health/domain.ts'
import type { FileManifest } from './values/manifest.ts'
import type { BuildRecord } from './history/history.ts'
import type { FilesReport, RestoreReport } from './files/options.ts'
import type {
  CompactReport,
  Damage,
  ExportReport,
  ImportReport,
  RepairReport,
  SealReport,
  Stats,
  TopItem,
  VerifyReport,
} from './reports.ts'
import type { Difference } from './task/why.ts'

export type { CacheReader, DescribeCache, Description, Part, ReadEntry, Subject } from './cli-json/description.ts'

/** The `format` of every value. It changes if a field is removed or changes its meaning, not if one is added. */
export const CLI_JSON_FORMAT = 1

/** The JSON of each command, by its name. */
export interface CliJson extends EachCaches {
  /** Without `--dir`. */
  readonly stats: StatsJson
  readonly ls: LsJson
  readonly 'ls --sort': LsSortJson
  readonly 'ls --task': LsTaskJson
  readonly get: GetJson
  readonly why: WhyJson
  readonly export: ExportReport & FormatJson & { readonly file: string }
  readonly import: ImportReport & FormatJson & { readonly dir: string }
  readonly doctor: DoctorJson
  readonly estimate: EstimateJson
  readonly view: ViewJson
  readonly 'files ls': FilesLsJson
  readonly 'files ls --stored': FilesStoredJson
  readonly 'files restore': FilesRestoreJson
  readonly 'remote push': RemotePushJson
  readonly 'remote pull': RemotePullJson
  readonly 'remote compact': RemotePushJson
  readonly 'remote gc': RemoteGcJson
  readonly 'remote revoke': RemoteRevokeJson
  readonly 'remote status': RemoteStatusJson
  readonly 'remote verify': RemoteVerifyJson
  readonly 'remote doctor': DoctorJson
  readonly 'remote keygen': RemoteKeygenJson
  /** The JSON of any command that fails, with exit code 2, 3 or 4. */
  readonly error: ErrorJson
}

/** The reports of commands that work on each cache. */
export interface EachReports {
  /** `domain`: whether the cache is of untrusted scopes of a remote. `contents`: the namespaces as users know them, empty with `--raw`. */
  readonly 'stats --dir': Stats & { readonly domain: TrustDomain; readonly contents: readonly StatsContentJson[] }
  readonly history: { readonly builds: readonly BuildRecord[] }
  readonly 'export --layer': SealReport & { readonly layer: string }
  readonly 'repair --check': VerifyReport
  readonly repair: RepairReport & { readonly dryRun: boolean }
  readonly gc: CompactReport & { readonly bytesFreed: number }
  readonly clear: CompactReport & { readonly bytesFreed: number; readonly entriesCleared: number }
  readonly 'files verify': FilesReport
  readonly 'files gc': FilesGcReport
}

/** One report for each cache in `--dir`: a list even if there is only one. */
export type EachCaches = {
  readonly [Name in keyof EachReports]: FormatJson & { readonly caches: readonly CacheReport<EachReports[Name]>[] }
}

/** A report with the absolute path of its cache. */
export type CacheReport<Report> = Report & { readonly dir: string }

/** The field that every value has. */
export interface FormatJson {
  readonly format: typeof CLI_JSON_FORMAT
}

/** A key as text, or as base64 if its bytes are not UTF-8. */
export type KeyJson = { readonly key: string } | { readonly keyBase64: string }

/** The namespace of an entry and its version. */
export interface PlaceJson {
  readonly namespace: string
  readonly version: string
}

export interface StatsJson extends FormatJson {
  /** Directories that were searched. */
  readonly places: readonly string[]
  readonly caches: readonly CacheJson[]
  /** Sums over `caches`. */
  readonly entries: number
  readonly bytes: number
}

/** What namespaces of a cache are about: a tool in one configuration, a plugin, a task. */
export interface StatsContentJson {
  readonly title: string
  /** Number of modules, assets and the like, by kind; empty if they are not known. */
  readonly subjects: Readonly<Record<string, number>>
  readonly entries: number
  /** Bytes of keys and values before compression. */
  readonly bytes: number
  /** Bytes of tables and blobs; contents that share a blob share its bytes. Entries that are only in logs have none. */
  readonly diskBytes: number
  /** As in `NamespaceStats`. */
  readonly oldestMs: number
  readonly newestMs: number
}

export interface LsSortJson extends FormatJson {
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
    /** Time of the newest result, in milliseconds since 1970. */
    readonly newestMs: number
  }[]
}

export interface GetJson extends FormatJson {
  /** Null if there is no such key; the exit code is then 1. */
  readonly entry: (PlaceJson & KeyJson & ({ readonly value: string } | { readonly valueBase64: string })) | null
}

export interface WhyJson extends FormatJson {
  /** One record for each task with results for the id. Empty if there is none; the exit code is then 1. */
  readonly records: readonly RecordJson[]
}

export interface DoctorJson extends FormatJson {
  /** False if there is something to fix; the exit code is then 1. */
  readonly ok: boolean
  readonly findings: readonly FindingJson[]
}

/** What a build would save with Varve, as one run of it shows. Times are in milliseconds. */
export interface EstimateJson extends FormatJson {
  /** Exit code of the build. */
  readonly status: number
  readonly tookMs: number
  /** The bundler that did most of the work; null if Varve knows none that ran. */
  readonly tool: string | null
  /** Time of the main thread of the bundler in work whose results Varve could cache. */
  readonly cacheableMs: number
  /** Its parts by package, or by file of the project; the largest come first. */
  readonly parts: readonly { readonly name: string; readonly ms: number }[]
}

export interface FindingJson {
  readonly what: string
  readonly found: string
  /** What to fix, and how. */
  readonly advice?: string
  /** A possible improvement, although nothing is wrong. */
  readonly note?: string
}

/** What `varve view` shows. */
export interface ViewJson extends FormatJson {
  /** In milliseconds since 1970. */
  readonly createdMs: number
  /** What `varve doctor` finds. */
  readonly findings: readonly FindingJson[]
  readonly remote: ViewRemoteJson | null
  readonly caches: readonly ViewCacheJson[]
}

/** The remote of the environment; its layers are those of the caches. */
export interface ViewRemoteJson {
  /** VARVE_REMOTE without a password. */
  readonly store: string
  /** Whether VARVE_OFFLINE forbids connections. */
  readonly offline: boolean
}

/** One cache. `npx varve view` reads the optional parts when the page asks for them. */
export interface ViewCacheJson {
  readonly dir: string
  readonly engine: 'native' | 'wasm'
  readonly stats: Stats
  /** The newest first. */
  readonly builds: readonly BuildRecord[]
  /** Damage detected so far. */
  readonly damage: readonly Damage[]
  readonly contents?: ContentsJson
  /** With `--verify`. */
  readonly verify?: VerifyReport
  /** What `varve why` reports of the costliest results of the last build. */
  readonly records?: readonly RecordJson[]
}

export interface FilesLsJson extends FormatJson {
  readonly manifests: readonly (PlaceJson &
    KeyJson &
    Pick<FileManifest, 'files'> & {
      /** Number of files and directories. */
      readonly entries: number
      readonly bytes: number
    })[]
}

export interface FilesStoredJson extends FormatJson {
  readonly contents: readonly StoredContent[]
}

export interface FilesRestoreJson extends FormatJson {
  /** Null if there is no such key; the exit code is then 1. */
  readonly report: RestoreReport | null
}

/** Removed and remaining contents. */
export interface FilesGcReport {
  readonly removed: number
  readonly bytesFreed: number
  readonly contents: number
  readonly bytes: number
}

export interface RemotePushJson extends FormatJson {
  /** `'unchanged'`: the remote had everything. `'exists'`: another publisher was first with this commit. */
  readonly outcome: 'published' | 'unchanged' | 'exists'
  /** Generation of the head; 0 if it was not looked up, or the store has none. */
  readonly generation: number
  /** The new layers. */
  readonly layers: readonly RemoteLayerJson[]
  /** Bytes of chunks that the store did not have. */
  readonly sentBytes: number
}

export interface RemotePullJson extends FormatJson {
  /** The newest first; `path` is for option `layers` of `openCache`. */
  readonly layers: readonly (RemoteLayerJson & { readonly scope: string; readonly path: string })[]
  /** Number of layers that were not on this machine, and their bytes. */
  readonly fetched: number
  readonly fetchedBytes: number
  /** The value for VARVE_LAYERS. */
  readonly variable: string
}

export interface RemoteGcJson extends FormatJson {
  readonly dryRun: boolean
  /** Objects of the domain before, and their bytes. */
  readonly objects: number
  readonly bytes: number
  /** Objects that were removed, or would be. */
  readonly removed: number
  readonly removedBytes: number
}

export interface RemoteRevokeJson extends FormatJson {
  readonly generation: number
  /** The layers that readers do not use any more. */
  readonly layers: readonly RemoteLayerJson[]
}

export interface RemoteStatusJson extends FormatJson {
  readonly store: string
  /** Whether there is a signing key. */
  readonly writable: boolean
  readonly scopes: readonly {
    readonly scope: string
    /** 0 if nothing was published. */
    readonly generation: number
    readonly commit: string
    /** In milliseconds since 1970; 0 if nothing was published. */
    readonly createdAt: number
    readonly layers: readonly (RemoteLayerJson & { readonly isLocal: boolean })[]
  }[]
}

export interface RemoteVerifyJson extends FormatJson {
  /** False if an object is missing or damaged; the exit code is then 1. */
  readonly sound: boolean
  readonly layers: number
  readonly chunks: number
  readonly bytes: number
  /** One sentence for each object that is wrong. */
  readonly problems: readonly string[]
}

export interface RemoteKeygenJson extends FormatJson {
  readonly keyId: string
  readonly publicKey: string
  /** A secret. */
  readonly signingKey: string
}

export interface ErrorJson extends FormatJson {
  readonly error: { readonly code: ErrorCode; readonly message: string }
}

export interface CacheJson {
  readonly dir: string
  /** Names of tools in its history, the last one first. */
  readonly tools: readonly string[]
  /** Names of its namespaces. */
  readonly namespaces: readonly string[]
  readonly entries: number
  readonly bytes: number
  /** When a build last wrote to it or recorded what it read, in milliseconds since 1970; 0 if unknown. */
  readonly usedMs: number
  /** Why it could not be opened; its counts are 0. Null if it was. */
  readonly problem: string | null
}

/** A layer of a remote. */
export interface RemoteLayerJson {
  /** Name of the cache. */
  readonly cache: string
  readonly sha256: string
  /** Bytes of its files; `descriptionBytes` are those of the list of them. */
  readonly bytes: number
  readonly descriptionBytes: number
  /** Its first chunks, at most 8. */
  readonly first: readonly { readonly sha256: string; readonly bytes: number }[]
  readonly entries: number
  readonly deletes: number
  /** First 16 digits of the layers that were merged into it, the newest ones. */
  readonly merged?: readonly string[] | undefined
}

/** What the entries of a cache are about. */
export interface ContentsJson {
  /** The whole cache: parts by namespace or task, in these by package or directory, in these by module. */
  readonly tree: TreeJson
  readonly made: MadeJson
}

/** Entries with something in common. */
export interface TreeJson {
  /** Null for the parts that are too many to be listed. */
  readonly name: string | null
  /** The name as users know it, if that is another one. */
  readonly title?: string
  readonly entries: number
  /** Bytes of keys and values before compression. */
  readonly bytes: number
  /** Milliseconds that the newest results took when they were made: what a build saves if all of them are hits. */
  readonly workMs: number
  /** The largest parts come first. */
  readonly parts?: readonly TreeJson[]
}

/** The results of tasks that the last recorded build made. */
export interface MadeJson {
  readonly count: number
  /** The most frequent reasons come first. */
  readonly reasons: readonly MadeReasonJson[]
}

/** Results that were made for one reason. */
export interface MadeReasonJson {
  readonly reason: string
  readonly count: number
  readonly workMs: number
  /** The costliest results come first. */
  readonly results: readonly MadeResultJson[]
}

/** A result that was made because none was stored, or because something differs from the nearest older one. */
export interface MadeResultJson {
  readonly task: string
  readonly id: string
  /** The tool or plugin of the task and what the id is about, if it is a task of a plugin. */
  readonly tool?: string
  readonly path?: string
  /** In milliseconds since 1970. */
  readonly timeMs: number
  readonly workMs: number
  /** Some of the differences from the nearest older result. */
  readonly differences: readonly Difference[]
}

/** The stored results of an id. */
export interface RecordJson {
  readonly task: string
  /** In `view`: the tool and its configuration as users know them, if that is not the name of the task. */
  readonly tool?: string
  readonly id: string
  /** The newest result comes first. */
  readonly variants: readonly VariantJson[]
  /** How the two newest results differ; `before` is the older one. */
  readonly between: readonly Difference[]
}

export interface VariantJson {
  /** Time of the result, in milliseconds since 1970. */
  readonly timeMs: number
  /** Whether a run with the same inputs would hit: files and environment are unchanged, and the result is stored. */
  readonly holds: boolean
  /** Whether the result was evicted or is damaged. */
  readonly isLost: boolean
  /** Path of the layer that has the result; null if the cache itself has it, or it is lost. */
  readonly layer: string | null
  /** Why its work was done, with short values: `'NODE_ENV development -> production'`. Older records do not have it. */
  readonly why?: string
  readonly differences: readonly Difference[]
  /** Variables that are not set here, which the build may set itself. They are assumed to be as they were. */
  readonly assumed: readonly DependencyJson[]
  readonly inputs: readonly DependencyJson[]
  /** Environment variables. */
  readonly env: readonly DependencyJson[]
  readonly files: readonly DependencyJson[]
}

/** Something that a result depends on. `'missing'` and `'undefined'` are digests, too, and a short value is its own: `'="production"'`. */
export interface DependencyJson {
  readonly name: string
  readonly digest: string
}
