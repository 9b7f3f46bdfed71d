/** The same from CommonJS: Node requires ES modules since 20.19. */
import varve = require('varve')

async function main(): Promise<void> {
  const cache: varve.Cache = await varve.openCache({ name: 'consumer' })
  await cache.close()
}

void main()
