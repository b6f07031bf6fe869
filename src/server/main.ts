#!/usr/bin/env node
/**
 * The command. An old Node gets as far as the sentence that helps: everything else is loaded after the
 * look at its version.
 */
import { isNodeSupported, nodeRefusal } from './node-version.ts'

if (isNodeSupported(process.version)) {
  const { runProcess } = await import('./cli.ts')
  await runProcess()
} else {
  process.stderr.write(`${nodeRefusal('flytower', process.version)}\n`)
  process.exitCode = 1
}
