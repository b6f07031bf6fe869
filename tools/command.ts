/** Runs a command, the project's own tools first, with its output shown; says whether it succeeded. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, resolve } from 'node:path'

export async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  const PATH = [resolve('node_modules/.bin'), process.env['PATH']].join(delimiter)
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, PATH } })
  const [exitCode] = await once(child, 'exit')
  return exitCode === 0
}
