/** Directories with files in them for tests of bundles; they are gone when the test has ended. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export type Files = Readonly<Record<string, string | Uint8Array>>

export type Directory = Disposable & Readonly<{ path: string }>

export const FEATURE = 'Feature: Orders\n  Scenario: One\n    Given an order\n'

export function directory(files: Files = {}): Directory {
  const path = mkdtempSync(join(tmpdir(), 'flytower-probe-'))
  write(path, files)
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

export function write(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
}
