/** Describes the caches of all plugins to `npx varve`, in the words of their users. The command imports it if it is installed. */
import type { DescribeCache } from 'varve/cli-json'
import { describeTasks } from './build/describe.ts'
import { describeWebpack } from './webpack/describe.ts'

/** Describes the namespaces that plugins have written. */
export const describe: DescribeCache = (namespaces) => [...describeWebpack(namespaces), ...describeTasks(namespaces)]
