/** In place of the modules of Node.js that the contract imports, for a browser, which has no directories to look at. */

let folders = 0

export const makeFolder = (): string => `/contract/${folders++}`
export const existsSync = (): boolean => false
export const join = (...parts: readonly string[]): string => parts.join('/')
export { delay as setTimeout }

function delay<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ms))
}

/** Only tests of directories and streams call these. */
function refuse(): never {
  throw new Error('a browser does not have this')
}
export {
  refuse as mkdirSync,
  refuse as readdirSync,
  refuse as readFileSync,
  refuse as snapshot,
  refuse as writeFileSync,
}
export { refuse as Readable, refuse as Writable }
