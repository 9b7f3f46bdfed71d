/** The file system and the environment as a remote uses them: what it reads is no read of the build that opens a cache over it. */
import fs from 'node:fs'
import { ownEnv, ownFiles } from 'varve/internal'

export { ownEnv as environment }

export const disk: typeof fs = ownFiles(fs)
