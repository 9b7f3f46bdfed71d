/** The contract on every engine and host. */
import { openCache } from 'varve'
import { contract } from './contract.ts'

contract('native', { isOnDisk: true, openEngineCache: (options) => openCache({ ...options, engine: 'native' }) })
contract('wasm over node:fs', { isOnDisk: true, openEngineCache: (options) => openCache({ ...options, engine: 'wasm' }) })
contract('wasm in memory', { isOnDisk: false, openEngineCache: (options) => openCache({ ...options, engine: 'memory' }) })
