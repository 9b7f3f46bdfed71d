/** Exit codes of `varve`, the same for every command. */

/** Done; no problem was found. */
export const OK = 0
/** The answer is no: damage found, no such key, or caches that differ. */
export const NEGATIVE = 1
/** The command line is wrong. */
export const USAGE = 2
/** There is no cache in the directory. */
export const NO_CACHE = 3
/** The command failed. */
export const FAILED = 4

/** The end of each `--help`. */
export const EXIT_HELP = `
Exit codes:
  0  done, no problem found
  1  damage found (verify, doctor, remote doctor, remote verify) or left (repair), no such key or id (get, why, files restore), or differences (diff)
  2  the command line is wrong
  3  there is no cache in that directory
  4  failed, for example: no access, no engine, disk full, remote not available`
