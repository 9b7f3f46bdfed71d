/** What the command uses of `@varve/view`. The tests of that package assign it to this interface, so the compiler compares both. */
import type { ViewJson } from '../../cli-json.ts'
import { installedPackage } from '../../host/installed.ts'
import type { ViewSource } from './source.ts'

/** The exports of the package. */
export interface ViewModule {
  /** A page that needs nothing but itself. */
  reportPage(view: ViewJson): string
  serve(
    source: Pick<ViewSource, 'overview' | 'contents' | 'verify' | 'why'>,
    options: { readonly port: number },
  ): Promise<ViewServer>
}

/** A running server. */
export interface ViewServer {
  /** With the token that every request needs. */
  readonly url: string
  close(): Promise<void>
}

/** The package. Throws INVALID_OPTION if it is missing. */
export async function loadView(): Promise<ViewModule> {
  const loaded: ViewModule = await import(installedPackage('@varve/view'))
  return loaded
}
