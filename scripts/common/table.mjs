// @ts-check
// Tables that commands write into a page, between the comments `<!-- name -->` and `<!-- end -->`.
import { readFile, writeFile } from 'node:fs/promises'
import { at } from './root.mjs'

/**
 * @param {string} page relative to the root of the repository
 * @param {string} name
 * @param {readonly (readonly string[])[]} rows the first one has the names of the columns
 */
export async function writeTable(page, name, [head = [], ...rows]) {
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  const text = await readFile(at(page), 'utf8')
  const [before, after] = text.split(`<!-- ${name} -->\n\n`)
  const end = after?.indexOf('\n\n<!-- end -->') ?? -1
  if (before === undefined || after === undefined || end < 0)
    throw new Error(`${page} has no place for the table '${name}'`)
  await writeFile(at(page), `${before}<!-- ${name} -->\n\n${table}${after.slice(end)}`)
}
