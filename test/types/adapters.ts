/** A user's module with adapters, compiled against the packed packages; adapters need no types of their tools. */
import { createTransformer } from '@varve/plugins/jest'
import { VarveKeyv } from '@varve/plugins/keyv'
import { VarveMetroStore } from '@varve/plugins/metro'
import { VarveParcelCache } from '@varve/plugins/parcel'
import { varveDriver } from '@varve/plugins/unstorage'

const keyv = new VarveKeyv({ dir: 'cache', maxBytes: '500MB' })
const page: string | undefined = await keyv.get<string>('page')
// @ts-expect-error there is no such option
varveDriver({ base: 'cache' })
// @ts-expect-error the transformer to wrap has to be named
await createTransformer({})
console.log(page, new VarveMetroStore<string>(), new VarveParcelCache())
