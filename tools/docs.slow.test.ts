/**
 * The code in the documents compiles and runs. Each block is a program of its own that imports the
 * package as its reader would; here those imports lead to the source.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { codeBlocks, documents, type Block } from './docs.ts'

const run = promisify(execFile)

const RUN_MS_MAX = 30_000

const folder = join('.docs-run', String(process.pid)) // inside the tree, so that types are found
const blocks = codeBlocks(
  documents().filter(({ path }) => path === 'README.md' || path.startsWith('docs/')),
)

function fileOf({ page, line }: Block): string {
  return join(folder, `${page.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}-${line}.ts`)
}

function doors(): [subpath: string, door: string][] {
  const manifest: { name: string; exports: Record<string, string | { default: string }> } =
    JSON.parse(readFileSync('package.json', 'utf8'))
  return Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [
          [
            subpath.replace('.', manifest.name),
            target.default.replace('./dist/', '../../src/').replace(/\.js$/, '.ts'),
          ],
        ],
  )
}

describe('the code in the documents', { concurrency: 2 }, () => {
  before(() => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../tsconfig.json',
        compilerOptions: { declaration: false, isolatedDeclarations: false, noUnusedLocals: false },
        include: ['*.ts'],
      }),
    )
    for (const block of blocks) {
      let { code } = block
      for (const [subpath, door] of doors()) code = code.replaceAll(`'${subpath}'`, `'${door}'`)
      writeFileSync(fileOf(block), `${code}\nexport {}\n`)
    }
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('compiles', async () => {
    if (blocks.length === 0) return
    const complaint = await run('node_modules/.bin/tsc', ['--project', folder]).then(
      () => '',
      (error: { stdout?: string; message: string }) => error.stdout ?? error.message,
    )
    assert.equal(complaint, '')
  })

  for (const block of blocks.filter(({ runs }) => runs)) {
    test(`${block.page}:${block.line} runs`, async () => {
      await run(process.execPath, [fileOf(block)], { timeout: RUN_MS_MAX })
    })
  }
})
