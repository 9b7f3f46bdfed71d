/** Types of `cache.files`: trees of files and archives. Their code loads at the first call of `cache.files`. */
export type { FileEntry, FileItem, FileManifest, FolderItem, LinkItem } from '../values/manifest.ts'
export type { Files } from './files.ts'
export type {
  ExportTarOptions,
  FilesReport,
  ImportedTar,
  ImportTarOptions,
  RestoreOptions,
  RestoreReport,
  StoreOptions,
} from './options.ts'
