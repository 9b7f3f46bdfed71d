/** The page of `npx varve view`, served on this machine or as one file. */
export { reportPage } from './server.ts'
export { serve, type ServeOptions, type Server } from './server.ts'
export type { Control, Source } from './server.ts'
