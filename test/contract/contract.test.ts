/** The contract on every engine and host. */
import { openCache } from 'varve'
import { inMemory } from '../engines.ts'
import { contract } from './contract.ts'

const secret = 'a long secret of the trusted branch'

contract('native', { isOnDisk: true, openEngineCache: (options) => openCache({ ...options, engine: 'native' }) })
contract('wasm over node:fs', {
  isOnDisk: true,
  openEngineCache: (options) => openCache({ ...options, engine: 'wasm' }),
})
contract('wasm in memory', { isOnDisk: false, openEngineCache: (options) => openCache(inMemory(options)) })
contract('native with a secret', {
  isOnDisk: true,
  openEngineCache: (options) => openCache({ secret, ...options, engine: 'native' }),
})
contract('wasm over node:fs with a secret', {
  isOnDisk: true,
  openEngineCache: (options) => openCache({ secret, ...options, engine: 'wasm' }),
})
