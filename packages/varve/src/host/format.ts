/** The directory of the format in a cache directory; with a secret its name is longer. */
export const FORMAT_FOLDER = 'v1'
