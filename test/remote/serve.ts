/** Starts a server as a child process on a free port of loopback. */
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A free port of loopback. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Whether a server accepts connections. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('close', () => socket.destroy())
    socket.once('connect', () => socket.end())
  })
}

/** Starts a program and waits until it accepts connections. Returns what ends it. */
export async function serve(
  program: string,
  args: readonly string[],
  port: number,
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options })
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed = (printed + text).slice(-2000)))
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', (error) => {
      printed += error.message
      resolve()
    })
  })
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined
  for (let attempt = 0; !isOver() && attempt < 1000; attempt++) {
    if (await accepts(port)) {
      return async () => {
        child.kill()
        await ended
      }
    }
    await delay(50)
  }
  if (child.pid !== undefined) child.kill() // without a process, the signal would reach the group of this one
  await ended
  throw new Error(`${program} does not accept connections; 'npm run setup -- --servers' installs it: ${printed}`)
}
