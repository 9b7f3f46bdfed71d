/** The loader context of webpack and Rspack, as far as it is public and used here. */

/** A loader of the chain. */
export interface ChainLoader {
  readonly path: string
  readonly query: string
  readonly options?: unknown
}

/** What the loaders of a module share. */
export interface ChainContext {
  readonly resource: string
  readonly resourcePath: string
  readonly rootContext: string
  readonly mode?: string | undefined
  readonly target?: unknown
  readonly sourceMap?: boolean | undefined
  readonly hot?: boolean | undefined
  readonly loaders: readonly ChainLoader[]
  loaderIndex: number
  /** An object of this loader's own, the same in pitch and normal. */
  readonly data: unknown
  getLogger(name: string): { warn(text: string): void }
  addDependency(path: string): void
  addContextDependency(path: string): void
  addMissingDependency(path: string): void
  addBuildDependency(path: string): void
  getDependencies(): string[]
  getContextDependencies(): string[]
  getMissingDependencies?(): string[]
  emitFile(name: string, content: unknown, sourceMap?: unknown, assetInfo?: unknown): void
  emitWarning(warning: Error): void
}

/** What a loader's `this` is. */
export interface LoaderContext extends ChainContext {
  async(): LoaderCallback
  getOptions(): object
}

/** Ends a loader. */
export type LoaderCallback = (error: Error | null, content?: string | Buffer, map?: unknown, meta?: unknown) => void

/** What a chain made of a module. */
export interface Result {
  readonly content: Uint8Array
  readonly map: unknown
  readonly meta: unknown
}
