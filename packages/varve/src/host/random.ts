/** Random bits, from `node:crypto` where a program has no `crypto`, as some test environments have none. */
import { builtin } from './builtin.ts'

/** 64 random bits. Throws if the host has no source of them. */
export function randomBits(): bigint {
  const source = globalThis.crypto ?? builtin('node:crypto')?.webcrypto
  const [bits = 0n] = source.getRandomValues(new BigUint64Array(1))
  return bits
}
