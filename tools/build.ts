/** Builds `dist/` from nothing, so that no file of an earlier build is released. */
import { rmSync } from 'node:fs'

import { succeeds } from './command.ts'

rmSync('dist', { recursive: true, force: true })
process.exitCode = (await succeeds('tsc', ['--project', 'tsconfig.build.json'])) ? 0 : 1
