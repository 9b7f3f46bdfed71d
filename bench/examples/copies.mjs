// @ts-check
// Enlarges an example, so that a build takes longer than the start of its tool.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * Writes copies of the pages of an example. Each has another name, in its path and in its text.
 * @param {Pick<import('../../test/suites/examples/projects.mjs').Example, 'pages' | 'copies'>} example
 * @param {string} project
 */
export async function writeCopies({ pages, copies }, project) {
  for (const page of pages) {
    const text = await readFile(join(project, page), 'utf8')
    for (let index = 1; index <= copies; index++) {
      const renamed = (/** @type {string} */ value) => value.replaceAll(/orders/gi, (name) => `${name}${index}`)
      const path = join(project, renamed(page))
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, renamed(text))
    }
  }
}
