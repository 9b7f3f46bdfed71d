/** What pages of documentation have in common: the list of all pages, the figures of the README, and pictures for both colour schemes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { CORE_FLOORS } from '../../scripts/tidy/rules.mjs'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** @param path relative to the repository */
const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

/** The cells of each row below the head of a table. */
function rowsOf(page: string, head: string): string[][] {
  const table = page.slice(page.indexOf(head)).split('\n\n', 1).join('')
  return table
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

it('docs/README.md, from which the site makes its sidebar, lists every page of docs once', () => {
  const links = [...read('docs/README.md').matchAll(/\]\((\w[\w-]*\.md)\)/g)].map(([, name = '']) => name)
  const pages = readdirSync(join(REPOSITORY, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md')
  expect(links.toSorted()).toEqual(pages.toSorted())
})

it('every figure and command of the table in the README stands in docs/benchmarks.md or a page of bench', () => {
  const limits = readdirSync(join(REPOSITORY, 'bench/limits')).map((name) => `bench/limits/${name}`)
  const benchmarks = ['docs/benchmarks.md', 'docs/remote.md', 'bench/README.md', ...limits].map(read).join('')
  const rows = rowsOf(read('README.md'), '| how much faster')
  expect(rows).toHaveLength(3)
  for (const [, without = '', ours = '', command = ''] of rows) {
    const numbers = [...`${without}; ${ours}`.matchAll(/[\d.]+/g)].map(([number]) => number)
    const figures = [...numbers, command.replaceAll('`', '')]
    expect(figures.filter((figure) => figure === '' || !benchmarks.includes(figure))).toEqual([])
  }
})

it('the picture of the rooms names every room of core', () => {
  const names = new Set(
    [...read('docs/images/rooms-light.svg').matchAll(/class="t">([\w/]+)/g)].map(([, name]) => name),
  )
  expect(CORE_FLOORS.flat().filter((room) => !names.has(room))).toEqual([])
})

it.each(['overview', 'rooms'])('the picture %s differs between light and dark only in its colours', (name) => {
  const shapesOf = (scheme: string): string =>
    read(`docs/images/${name}-${scheme}.svg`).replace(/#[0-9a-f]{6}/g, '#colour')
  expect(shapesOf('dark')).toBe(shapesOf('light'))
})
