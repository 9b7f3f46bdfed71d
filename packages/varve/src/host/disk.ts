/** The file system for the command, which runs on Node.js only. */
import fs from 'node:fs'
import { ownFiles } from './own.ts'

export const disk: typeof fs = ownFiles(fs)
