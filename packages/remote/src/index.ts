/** Shares caches of Varve between machines: stores, signed manifests, push and pull. */
export { remoteDoctor, type RemoteDoctorOptions, type RemoteDoctorReport } from './doctor.ts'
export type { RemoteFinding } from './doctor.ts'
export { type Environment, type EnvironmentOptions, remoteFromEnvironment } from './environment.ts'
export {
  type RemoteLayerReport,
  type RemoteScopeReport,
  remoteStatus,
  type RemoteStatus,
  verifyRemote,
  type RemoteVerifyReport,
} from './inspect.ts'
export { gc, type RemoteGcOptions, type RemoteGcReport } from './gc.ts'
export { generateKeys, type KeyPair } from './manifest.ts'
export type { RemoteLayer } from './manifest.ts'
export { openRemote, type OpenRemote } from './open.ts'
export { pull, type PulledLayer, type PullOptions, type PullReport, type RemoteControl } from './pull.ts'
export { compact, push, type PushOptions, type PushReport, type RemoteCompactOptions } from './push.ts'
export type { Remote, RemoteMode, RemoteOptions, RemotePrefetch } from './remote.ts'
export { revoke, type RevokeReport } from './gc.ts'
export type { PushedCache } from './seal.ts'
export type { CredentialsOption, HttpCredentials } from './stores/http.ts'
export { bazel, type BazelOptions } from './stores/build-caches.ts'
export { directory } from './stores/directory.ts'
export { githubActions, type GithubActionsOptions } from './stores/github-actions.ts'
export { redis, type RedisOptions } from './stores/redis.ts'
export type { RedisCredentials } from './stores/redis-client.ts'
export { s3, type S3Options } from './stores/s3.ts'
export type { S3Credentials } from './stores/s3.ts'
export type {
  BlobStore,
  Capabilities,
  Fetched,
  GetOptions,
  Head,
  Listed,
  PutOptions,
  PutOutcome,
} from './stores/store.ts'
export { turbo, type TurboOptions } from './stores/build-caches.ts'
export { webdav, type WebdavOptions } from './stores/webdav.ts'
