// @ts-check
// Hostile folders by name: lengths of 0xff, huge counts, bombs, overlapping offsets, all with correct checksums. Two of them
// are not hostile (`sound log`, `sound table`): they prove that the engine reads forged files.
import { LOGS } from './hostile/logs.mjs'
import { MANIFESTS } from './hostile/manifests.mjs'
import { TABLES } from './hostile/tables.mjs'

export const HOSTILE = { ...LOGS, ...MANIFESTS, ...TABLES }
