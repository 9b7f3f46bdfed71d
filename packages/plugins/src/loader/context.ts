/** The public part of the loader context of webpack and Rspack that this project uses. */

export interface ChainLoader {
  readonly path: string
  readonly query: string
  readonly options?: unknown
}

/** A logger of webpack or Rspack. */
export interface Logger {
  warn(text: string): void
  info(text: string): void
}

/** The context that the loaders of a module share. */
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
  /** The file system of the tool; undefined in a process without one, such as that of thread-loader. */
  fs?: object | undefined
  /** An object of this loader, the same in pitch and normal. */
  readonly data: unknown
  getLogger(name: string): Logger
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

export interface LoaderContext extends ChainContext {
  async(): LoaderCallback
  getOptions(): object
}

/** Completes a loader. */
export type LoaderCallback = (error: Error | null, content?: string | Buffer, map?: unknown, meta?: unknown) => void

/** The result of a chain for a module. */
export interface Result {
  readonly content: Uint8Array
  readonly map: unknown
  readonly meta: unknown
}
