/** What the server asks of the caches. `varve` has it; nothing in it writes. */
import type { ContentsJson, RecordJson, ViewJson } from 'varve/cli-json'
import type { VerifyReport } from 'varve'

/** How a call is followed and stopped. */
export interface Control {
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((done: number, total: number) => void) | undefined
}

/** The caches; `dir` is that of one of them. */
export interface Source {
  overview(): Promise<ViewJson>
  contents(dir: string, control: Control): Promise<ContentsJson>
  verify(dir: string, control: Control): Promise<VerifyReport>
  why(
    dir: string,
    ids: readonly { readonly task?: string | undefined; readonly id: string }[],
  ): Promise<readonly RecordJson[]>
}
