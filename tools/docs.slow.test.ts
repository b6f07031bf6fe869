/**
 * The code in the documents compiles and runs, and commands for a shell print what is shown. Each block is a program of its own that imports the
 * package as its reader would; here those imports lead to the source. Blocks of one page run one after
 * the other in one folder, so that they can import those that have a name, and find what was written. Commands of one page
 * run one after the other as well, against a server that was started for the page.
 */
import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { PRODUCT } from '../src/std/index.ts'
import {
  codeBlocks,
  documents,
  printsAsShown,
  shellBlocks,
  type Block,
  type ShellBlock,
} from './docs.ts'

const run = promisify(execFile)

const RUN_MS_MAX = 150_000

/** Blocks as files, in a folder for each page inside the tree, so that imports and types are found. */
class Workshop {
  readonly #folder: string
  readonly #blocks: readonly Block[]

  constructor(name: string, blocks: readonly Block[]) {
    this.#folder = join('.docs-run', `${process.pid}-${name}`)
    this.#blocks = blocks
  }

  open(): void {
    mkdirSync(this.#folder, { recursive: true })
    const compilerOptions = {
      declaration: false,
      isolatedDeclarations: false,
      noUnusedLocals: false,
    }
    writeFileSync(
      join(this.#folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*/*.ts'] }),
    )
    for (const block of this.#blocks) mkdirSync(this.#folderOf(block), { recursive: true })
    for (const block of this.#blocks)
      writeFileSync(this.fileOf(block), `${withSourceImports(block.code)}\nexport {}\n`)
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  fileOf(block: Block): string {
    const { line, file = `line-${line}.ts` } = block
    return join(this.#folderOf(block), file)
  }

  /** What the compiler has to say about all of them. */
  async compile(): Promise<string> {
    if (this.#blocks.length === 0) return ''
    return run('node_modules/.bin/tsc', ['--project', this.#folder]).then(
      () => '',
      (error: { stdout?: string; message: string }) => error.stdout ?? error.message,
    )
  }

  async run(block: Block): Promise<void> {
    const cwd = this.#folderOf(block)
    await run(process.execPath, [resolve(this.fileOf(block))], { cwd, timeout: RUN_MS_MAX })
  }

  #folderOf({ page }: Block): string {
    return join(this.#folder, page.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase())
  }
}

function withSourceImports(code: string): string {
  const { name, exports }: { name: string; exports: Record<string, string | { default: string }> } =
    JSON.parse(readFileSync('package.json', 'utf8'))
  let rewritten = code
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue
    const door = target.default.replace('./dist/', '../../../src/').replace(/\.js$/, '.ts')
    rewritten = rewritten.replaceAll(`'${subpath.replace('.', name)}'`, `'${door}'`)
  }
  return rewritten
}

/** Where the documents say that a server is, which may be somebody's own. */
const ADDRESS = 'http://127.0.0.1:8470'

/** A server in a process and a folder of its own, as a reader would have started it. */
class Served {
  readonly #folder = mkdtempSync(join(tmpdir(), 'docs-served-'))
  /** The command of the package is found by its name. */
  readonly #commands = mkdtempSync(join(tmpdir(), 'docs-commands-'))
  #server: ChildProcess | undefined
  #url = ''

  async open(): Promise<void> {
    const main = resolve('src/server/main.ts')
    const command = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`
    writeFileSync(join(this.#commands, PRODUCT), command, { mode: 0o755 })
    this.#server = spawn(process.execPath, [main, 'serve', '--port', '0'], {
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    for await (const chunk of this.#server.stdout!.setEncoding('utf8')) {
      said += String(chunk)
      this.#url = /"url":"(http:[^"]+)"/.exec(said)?.[1] ?? ''
      if (this.#url !== '') break
    }
    assert.notEqual(this.#url, '', `the server did not say where it is: ${said}`)
  }

  async close(): Promise<void> {
    const ended = this.#server?.exitCode === null ? once(this.#server, 'exit') : undefined
    this.#server?.kill()
    await ended
    for (const folder of [this.#folder, this.#commands])
      rmSync(folder, { recursive: true, force: true })
  }

  async run({ code, shown }: ShellBlock): Promise<void> {
    const here = (text: string): string => text.replaceAll(ADDRESS, this.#url)
    const env = { ...process.env, PATH: `${this.#commands}:${process.env['PATH']}` }
    const options = { cwd: this.#folder, timeout: RUN_MS_MAX, env }
    const { stdout } = await run('sh', ['-e', '-c', here(code)], options)
    if (shown === undefined || printsAsShown(stdout, here(shown))) return
    assert.equal(stdout, here(shown)) // which shows both
  }
}

describe('the commands in the documents', { concurrency: 2 }, () => {
  const blocks = shellBlocks(documents())

  for (const [page, ofPage] of Map.groupBy(blocks, (block) => block.page))
    describe(page, { concurrency: 1 }, () => {
      const served = new Served()
      before(() => served.open())
      after(() => served.close())

      for (const block of ofPage)
        test(`${page}:${block.line} prints what is shown`, () => served.run(block))
    })
})

describe('a command that prints something else', () => {
  const text = [
    '```sh run',
    'echo one',
    '```',
    '```text',
    'two',
    '```',
    '```sh run',
    'false',
    '```',
  ]
  const [different, failing] = shellBlocks([{ path: 'page.md', text: text.join('\n') }])
  const served = new Served()
  after(() => served.close())

  test('fails, as does one that fails itself', async () => {
    await assert.rejects(served.run(different!), /one/)
    await assert.rejects(served.run(failing!), /Command failed/)
  })
})

describe('the code in the documents', { concurrency: 2 }, () => {
  const blocks = codeBlocks(
    documents().filter(({ path }) => path === 'README.md' || path.startsWith('docs/')),
  )
  const workshop = new Workshop('docs', blocks)
  before(() => workshop.open())
  after(() => workshop.close())

  test('compiles', async () => {
    assert.equal(await workshop.compile(), '')
  })

  for (const [page, ofPage] of Map.groupBy(blocks, (block) => block.page))
    describe(page, { concurrency: 1 }, () => {
      for (const block of ofPage.filter(({ runs }) => runs))
        test(`${page}:${block.line} runs`, () => workshop.run(block))
    })
})

describe('a block that is wrong', () => {
  const text = [
    '```ts',
    `import { fault } from 'flytower/std'`,
    `console.log(fault('a', 'b').code)`,
    '```',
    '```ts',
    `const n: number = 'no number'`,
    '```',
    '```ts',
    `throw new Error('thrown by the block')`,
    '```',
  ].join('\n')
  const blocks = codeBlocks([{ path: 'page.md', text }])
  const [good, wrongType, throwing] = blocks as [Block, Block, Block]
  const workshop = new Workshop('proof', blocks)
  before(() => workshop.open())
  after(() => workshop.close())

  test('is named by the compiler, alone', async () => {
    const complaint = await workshop.compile()
    assert.match(complaint, new RegExp(`${basename(workshop.fileOf(wrongType))}.*TS2322`))
    assert.equal(complaint.trim().split('\n').length, 1)
  })

  test('fails when it throws, and only then', async () => {
    await workshop.run(good)
    await assert.rejects(workshop.run(throwing), /thrown by the block/)
  })
})
