// @ts-check
// Hostile folders by name: lengths of 0xff, counts without end, bombs, offsets that overlap, all with checksums that are
// right. Two are not hostile (`sound log`, `sound table`), so that it is known that the forger's files are read at all.
import { LOGS } from './hostile/logs.mjs'
import { MANIFESTS } from './hostile/manifests.mjs'
import { TABLES } from './hostile/tables.mjs'

export const HOSTILE = { ...LOGS, ...MANIFESTS, ...TABLES }
