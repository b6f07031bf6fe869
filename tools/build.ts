/**
 * Builds `dist/`, or the directory that is named, from nothing, so that no file of an earlier build is
 * released. What others import is a file for each of ours. The command is bundled into a few: of the time
 * to its first answer, most went into finding some four hundred files.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build, type OutputFile } from 'esbuild'

import { succeeds } from './command.ts'

/** The command and the files of its threads: each stands beside the code that starts it. */
const ENTRIES = [
  'server/main.js',
  'journal/sqlite/writer.js',
  'journal/sqlite/filer.js',
  'journal/sqlite/errand-thread.js',
  'kernel/internal/watchdog-thread.js',
]

/** These start files that stand beside them, which run in processes of their own: they stay where they are. */
const APART = ['probe/runner/command.js', 'probe/evidence/reports.js']

const into = process.argv[2] ?? 'dist'
rmSync(into, { recursive: true, force: true })
if (await succeeds('tsc', ['--project', 'tsconfig.build.json', '--outDir', into]))
  replace(join(into, 'server'), await bundled(into))
else process.exitCode = 1

async function bundled(directory: string): Promise<readonly OutputFile[]> {
  const { outputFiles } = await build({
    entryPoints: ENTRIES.map((path) => join(directory, path)),
    outdir: join(directory, 'server'),
    entryNames: '[name]',
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true, // what a command does not need it does not load
    packages: 'external',
    external: APART.map((path) => resolve(directory, path)),
    format: 'esm',
    platform: 'node',
    target: 'node24',
    sourcemap: true,
    write: false,
    allowOverwrite: true,
    logLevel: 'warning',
  })
  return outputFiles
}

/** No door leads to the files that the bundle is made of. */
function replace(directory: string, files: readonly OutputFile[]): void {
  rmSync(directory, { recursive: true })
  mkdirSync(directory)
  for (const { path, contents } of files) writeFileSync(path, contents)
}
