/** Tasks, on both engines. */
import { cyclesContract } from './cycles.ts'
import { filesContract } from './files.ts'
import { inFlightContract } from './in-flight.ts'
import { inputsContract } from './inputs.ts'
import { rootContract } from './root.ts'
import { sharedContract } from './shared.ts'
import { storeContract } from './store.ts'
import { runManyContract } from './run-many.ts'
import { onEngine } from './subject.ts'
import { variantsContract } from './variants.ts'
import { whyContract } from './why.ts'

for (const engine of ['native', 'wasm'] as const) {
  onEngine(engine, (subject) => {
    inputsContract(subject)
    filesContract(subject)
    rootContract(subject)
    sharedContract(subject)
    runManyContract(subject)
    inFlightContract(subject)
    cyclesContract(subject)
    variantsContract(subject)
    storeContract(subject)
    whyContract(subject)
  })
}
