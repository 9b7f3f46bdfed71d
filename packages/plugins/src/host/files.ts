/** The file system as plugins of Varve use it themselves: what they read is no read of the work that they record. */
import fs from 'node:fs'
import { ownFiles } from 'varve/reads'

export const disk: typeof fs = ownFiles(fs)
