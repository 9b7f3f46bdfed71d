/** Who calls: the lines of the stack, and the modules and packages in them. */

/** Lines that are looked at. */
const LINES_MAX = 20

/** The path in a line, absolute. */
const PATH = /(?:^|[\s(])((?:\/|[A-Za-z]:[\\/])[^():]*):\d+:\d+\)?$/

/** The lines above a function, the closest first, however the program formats stacks; none if the host has no stacks. */
export function linesAbove(above: (...args: never[]) => unknown): string[] {
  const { stackTraceLimit, prepareStackTrace } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = LINES_MAX
    Reflect.set(Error, 'prepareStackTrace', undefined)
    Error.captureStackTrace(holder, above)
    return typeof holder.stack === 'string' ? holder.stack.split('\n').slice(1) : []
  } catch {
    return []
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace)
  }
}

/** The path of the module in a line; undefined for those of the host. */
export function pathIn(line: string): string | undefined {
  return PATH.exec(line.replace('file://', ''))?.[1]
}

/** The path of the first module above a function that is not in the folder of this one. */
export function callerAbove(above: (...args: never[]) => unknown): string {
  const [here = ''] = linesAbove(callerAbove).flatMap((line) => pathIn(line) ?? [])
  const folder = here.slice(0, Math.max(here.lastIndexOf('/'), here.lastIndexOf('\\')) + 1)
  const paths = linesAbove(above).flatMap((line) => pathIn(line) ?? [])
  return paths.find((path) => !path.startsWith(folder)) ?? 'unknown'
}

/** The installed package of the module in a line. */
export function packageIn(line: string): string | undefined {
  return packageOf(pathIn(line) ?? '')?.name
}

/** The installed package that a path is in. */
export function packageOf(path: string): { readonly name: string; readonly folder: string } | undefined {
  const [folder, name] = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)(?=[\\/])/.exec(path) ?? []
  return folder === undefined || name === undefined ? undefined : { name: name.replaceAll('\\', '/'), folder }
}
