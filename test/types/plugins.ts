/** A user's webpack configuration, compiled against the packed packages. */
import * as plugins from '@varve/plugins/webpack'
import type { Configuration, WebpackPluginInstance } from 'webpack'

const [Plugin] = Object.values(plugins) as (new () => WebpackPluginInstance)[]
export const configuration: Configuration = { plugins: Plugin === undefined ? [] : [new Plugin()] }
