/**
 * Everything that the package exports, on one page. `varve` exports what most callers need. The types of `cache.files`
 * (`Files`, `FileManifest` and the other names with *File*, *Folder*, *Link*, *Restore*, *Store* or *Tar*) are in
 * `varve/files`; those of `cache.exportJson` and `cache.importJson` (`Export*`, `Import*` without *Tar*) are in `varve/json`.
 *
 * @module
 */
export * from '../packages/varve/dist/index.js'
export type * from '../packages/varve/dist/files/index.js'
export type * from '../packages/varve/dist/json/index.js'
