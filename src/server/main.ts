#!/usr/bin/env node
/** The command: reads what only a process can know, asks `command.ts`, prints the answer. */
import { readFileSync } from 'node:fs'

import { answer } from './command.ts'

// The same distance from src/server and from dist/server.
const manifest = new URL('../../package.json', import.meta.url)
const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'))

const { text, exitCode } = await answer(process.argv.slice(2), {
  product: version,
  node: process.version,
})
const out = exitCode === 0 ? process.stdout : process.stderr
out.write(`${text}\n`)
process.exitCode = exitCode
