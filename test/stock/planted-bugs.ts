/**
 * Proof that the matrix bites: plants one bug after the other and sees each caught.
 *
 *   node test/stock/planted-bugs.ts
 *
 * Each bug is a small change of the text of the service or of what it stands on, made in a copy of the
 * tree outside of it. A change whose place is not found exactly once is an error: the text has moved,
 * and the bug has to be planted anew. The copy without a bug must pass, or a catch would mean nothing.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `find` is replaced by `put` in a file below `src`. */
export type Bug = Readonly<{ name: string; file: string; find: string; put: string }>

export type Catch = Readonly<{
  bug: string
  /** What the matrix said, undefined where it said nothing. */
  said: string | undefined
}>

const ROOT = join(import.meta.dirname, '../..')
/** Runs against one bug; the first that goes wrong ends them. */
const RUNS = 300
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 120_000

export const BUGS: readonly Bug[] = [
  {
    name: 'after a conflict a move brings its credit and not its debit',
    file: 'entity/internal/batch.ts',
    find: 'events: all ?? events }',
    put: 'events: entity.conflicts > 0 && more?.legs !== undefined ? [] : (all ?? events) }',
  },
  {
    name: 'the ledger is written after the batch, by a batch of its own',
    file: 'entity/internal/committing.ts',
    find: 'core.journal.commit(sent.batch).then(entity.onResult, entity.onError)',
    put: 'const { ledger, ...rest } = sent.batch\n  core.journal.commit(rest).then((result) => (ledger === undefined || result.type !== "committed" ? result : core.journal.commit({ ledger }).then(() => result))).then(entity.onResult, entity.onError)',
  },
  {
    name: 'a pot folds its events as they arrive',
    file: 'stock/pot.ts',
    find: 'effectiveAt: ({ effectiveAt }) => effectiveAt,',
    put: '',
  },
  {
    name: 'a move out leaves less than nothing',
    file: 'stock/pot.ts',
    find: 'if (!isLess(left, NOTHING)) return',
    put: "if (event.type === 'moved-out' || !isLess(left, NOTHING)) return",
  },
  {
    name: 'a move looks at what was there, and not at what is left',
    file: 'stock/pot.ts',
    find: 'if (isLess(state.quantity, quantity)) return answer(insufficient(state, quantity))\n  const both',
    put: 'if (isLess(plus(state.quantity, state.quantity), quantity)) return answer(insufficient(state, quantity))\n  const both',
  },
  {
    name: 'what is delivered twice in one delivery counts once',
    file: 'stock/pot.ts',
    find: 'sum === undefined ? quantity : plus(sum, quantity)',
    put: 'sum ?? quantity',
  },
]

/** First the tree without a bug, then each bug. */
export async function plantAll(): Promise<readonly Catch[]> {
  const catches: Catch[] = []
  for (const bug of [undefined, ...BUGS]) catches.push(await plant(bug))
  return catches
}

async function plant(bug: Bug | undefined): Promise<Catch> {
  const copy = mkdtempSync(join(tmpdir(), 'planted-bug-'))
  try {
    for (const part of ['src', 'test/stock', 'package.json'])
      cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    if (bug !== undefined) change(copy, bug)
    return { bug: bug?.name ?? 'none', said: saidIn(await runMatrix(copy)) }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function change(copy: string, { name, file, find, put }: Bug): void {
  const path = join(copy, 'src', file)
  const text = readFileSync(path, 'utf8')
  const found = text.split(find).length - 1
  if (found !== 1) throw new Error(`${name}: ${file} has ${found} places for it: ${find}`)
  writeFileSync(
    path,
    text.replace(find, () => put),
  )
}

/** What the runs of a copy say. It is a process of its own: what it breaks is its own, too. */
async function runMatrix(copy: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, STOCK_SEED: __, ...rest } = process.env
  const options = {
    cwd: copy,
    env: { ...rest, STOCK_RUNS: `${RUNS}` },
    timeout: RUN_MS_MAX,
    maxBuffer: 2 ** 26,
  }
  return new Promise((resolve) => {
    const script = 'test/stock/matrix.long.test.ts'
    execFile(process.execPath, [script], options, (error, stdout, stderr) => {
      const killed = error?.killed === true ? 'the run was killed' : ''
      resolve(`${stdout}\n${stderr}\n${killed}`)
    })
  })
}

function saidIn(output: string): string | undefined {
  const said = /stock: (seed \d+: .*)/.exec(output)?.[1]
  if (said === undefined && !/^ℹ pass 1$/m.test(output))
    throw new Error(`the matrix neither passed nor found a violation:\n${output}`)
  return said
}

/** What was caught, for people. */
export function tableOf(catches: readonly Catch[]): string {
  const width = Math.max(...catches.map(({ bug }) => bug.length))
  return catches.map(({ bug, said }) => `${bug.padEnd(width)}  ${said ?? 'not caught'}`).join('\n')
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantAll())}\n`)
