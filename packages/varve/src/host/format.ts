/** The directory of the format in a cache directory; with a secret its name is longer. */
export const FORMAT_FOLDER = 'v1'

/** The name of that directory in a cache with a secret. */
export const SECRET_FOLDER: RegExp = /^v1-[0-9a-f]{16}$/

/** Names of files by which a directory is recognised as one of the format. */
export const FORMAT_FILES: RegExp = /^(manifest-\d+|\d+\.log|\d+-\d+\.taken|\d+-\d+\.table)$/
