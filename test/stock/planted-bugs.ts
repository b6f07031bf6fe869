/**
 * Proof that the matrix bites: plants one bug after the other and sees each caught.
 *
 *   node test/stock/planted-bugs.ts
 */
import { execFile } from 'node:child_process'

import { bug, plantAll, tableOf, type Bug, type Catch } from '../planting.ts'

/** Runs against one bug; the first that goes wrong ends them. */
const RUNS = 300
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 240_000

export const BUGS: readonly Bug[] = [
  bug(
    'after a conflict a move brings its credit and not its debit',
    'entity/internal/batch.ts',
    'events: all ?? events }',
    'events: entity.conflicts > 0 && more?.legs !== undefined ? [] : (all ?? events) }',
  ),
  bug(
    'the ledger is written after the batch, by a batch of its own',
    'entity/internal/committing.ts',
    'core.journal.commit(sent.batch).then(entity.onResult, entity.onError)',
    'const { ledger, ...rest } = sent.batch\n  core.journal.commit(rest).then((result) => (ledger === undefined || result.type !== "committed" ? result : core.journal.commit({ ledger }).then(() => result))).then(entity.onResult, entity.onError)',
  ),
  bug(
    'a pot folds its events as they arrive',
    'stock/pot.ts',
    'effectiveAt: ({ effectiveAt }) => effectiveAt,',
    '',
  ),
  bug(
    'a move out leaves less than nothing',
    'stock/pot.ts',
    'if (!isLess(left, NOTHING)) return',
    "if (event.type === 'moved-out' || !isLess(left, NOTHING)) return",
  ),
  bug(
    'a move looks at what was there, and not at what is left',
    'stock/pot.ts',
    'if (isLess(state.quantity, quantity)) return answer(insufficient(state, quantity))\n  const both',
    'if (isLess(plus(state.quantity, state.quantity), quantity)) return answer(insufficient(state, quantity))\n  const both',
  ),
  bug(
    'what is delivered twice in one delivery counts once',
    'stock/pot.ts',
    'sum === undefined ? quantity : plus(sum, quantity)',
    'sum ?? quantity',
  ),
]

/** First the tree without a bug, then each bug. */
export function plantBugs(): Promise<readonly Catch[]> {
  return plantAll({
    bugs: BUGS,
    folder: 'src',
    tests: 'test/stock',
    run: async (copy) => saidIn(await runMatrix(copy)),
  })
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

if (import.meta.main) process.stdout.write(`${tableOf(await plantBugs())}\n`)
