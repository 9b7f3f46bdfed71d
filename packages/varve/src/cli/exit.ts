/** Exit codes of `varve`, the same for every command. */

/** Done; nothing wrong was found. */
export const OK = 0
/** The answer is no: damage found, no such key, not the same. */
export const NEGATIVE = 1
/** The command line is wrong. */
export const USAGE = 2
/** There is no cache in the folder. */
export const NO_CACHE = 3
/** The command could not do its work. */
export const FAILED = 4

/** For the end of each `--help`. */
export const EXIT_HELP = `
Exit codes:
  0  done, nothing wrong found
  1  damage found (verify, doctor) or left (repair), no such key or id (get, why, files restore), or differences (diff)
  2  the command line is wrong
  3  no cache in that folder
  4  failed: no access, no engine, disk full and the like`
