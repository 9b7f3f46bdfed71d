/** The contract on every engine and host. */
import { openCache } from 'varve'
import { contract } from './contract.ts'

const key = 'a long secret of the trusted branch'

contract('native', { isOnDisk: true, openEngineCache: (options) => openCache({ ...options, engine: 'native' }) })
contract('wasm over node:fs', { isOnDisk: true, openEngineCache: (options) => openCache({ ...options, engine: 'wasm' }) })
contract('wasm in memory', { isOnDisk: false, openEngineCache: (options) => openCache({ ...options, engine: 'memory' }) })
contract('native with a key', { isOnDisk: true, openEngineCache: (options) => openCache({ key, ...options, engine: 'native' }) })
contract('wasm over node:fs with a key', { isOnDisk: true, openEngineCache: (options) => openCache({ key, ...options, engine: 'wasm' }) })
