// @ts-check
// Makes one edit in a source: for the part that checks edits, and for vitest when it loads the source.

/**
 * The source with the edit. Throws if the text to replace does not occur exactly once.
 * @param {import('./edits.mjs').Edit} edit
 * @param {string} source
 */
export function applyEdit({ name, file, find, replace }, source) {
  const pieces = source.split(find)
  if (pieces.length !== 2)
    throw new Error(`edit '${name}': its text occurs ${pieces.length - 1} times in ${file}; expected exactly once`)
  return pieces.join(replace)
}
