/** CommonJS that imports at run time, which every version of TypeScript compiles. */
import type { Cache } from 'varve' with { 'resolution-mode': 'import' }

async function main(): Promise<void> {
  const { openCache } = await import('varve')
  const cache: Cache = await openCache({ name: 'consumer' })
  await cache.close()
}

void main()
