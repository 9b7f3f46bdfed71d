/** How a caller follows and stops a long call of an engine. Part of `engine.ts`. */
export interface EngineControl {
  readonly signal: AbortSignal | undefined
  /** Called at most every 50 ms with bytes done and in all. */
  readonly onProgress: ((done: number, total: number) => void) | undefined
}
