/** Options of a scope. */

/** What a scope is made with. */
export interface ReadScopeOptions {
  /** Name for messages: of the plugin or the task. */
  readonly name: string
  /** The folder that stored paths are relative to. */
  readonly root: string
  /** The caller declared the inputs of what cannot be seen: results are stored all the same. */
  readonly isDeclared?: boolean | undefined
  /** Packages whose reads in processes, workers and addons the caller vouches for. */
  readonly trust?: readonly string[] | undefined
  /** Whether code of any kind runs in it, so that imports are noted from its start; otherwise the caller follows those of local modules. */
  readonly notesImports?: boolean | undefined
  /**
   * Whether the files that runs are about are inputs of all results: `'shared'` for work that keeps them in memory and uses them in other
   * runs. The default is to share them once a run shows that.
   */
  readonly ownFiles?: 'shared' | undefined
  /** Called for each result that is not stored because of what its work did, with that in two words. */
  readonly onNotStored?: ((did: string) => void) | undefined
  /** Called once, with a sentence, when results are not stored from now on. */
  readonly onOpaque?: ((message: string) => void) | undefined
}
