// @ts-check
// Sets 200 values and ends without disconnect: it kills itself after awaiting all of them, or just ends without awaiting them.
import { VarveKeyv } from '@varve/plugins/keyv'

const [dir, engine, end] = process.argv.slice(2)
const store = new VarveKeyv({ dir, engine: engine === 'wasm' ? 'wasm' : 'native' })
const sets = Array.from({ length: 200 }, (_, index) => store.set(String(index + 1), `value ${index + 1}`))
if (end === 'killed') {
  await Promise.all(sets)
  process.kill(process.pid, 'SIGKILL')
}
