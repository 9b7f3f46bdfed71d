/** What the doctor of remotes reports. */

/** One thing that was checked. */
export interface RemoteFinding {
  readonly what: string
  readonly found: string
  /** What to fix, and how; undefined if there is nothing to fix. */
  readonly advice?: string
  /** A possible improvement, although nothing is wrong. */
  readonly note?: string
}
