/** Runs a command of this repository with its output shown, and says whether it succeeded. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(command, args, { stdio: 'inherit' })
  const [exitCode] = await once(child, 'exit')
  return exitCode === 0
}
