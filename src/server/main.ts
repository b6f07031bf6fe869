#!/usr/bin/env node
/**
 * The command. An old Node gets as far as the sentence that helps: everything else is loaded after the
 * look at its version.
 *
 * What is installed keeps its compiled code beside it, which saves a sixth of the time to the first
 * answer from the second start on. Where that cannot be written it is done without.
 */
import { join } from 'node:path'

import { isNodeSupported, nodeRefusal } from './node-version.ts'

if (isNodeSupported(process.version)) {
  if (import.meta.filename.endsWith('.js')) {
    const { enableCompileCache } = await import('node:module')
    enableCompileCache(join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'flytower'))
  }
  const { runProcess } = await import('./cli.ts')
  await runProcess()
} else {
  process.stderr.write(`${nodeRefusal('flytower', process.version)}\n`)
  process.exitCode = 1
}
