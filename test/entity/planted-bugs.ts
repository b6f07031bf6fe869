/**
 * Proof that the model bites: plants one bug after the other and sees each caught.
 *
 *   node test/entity/planted-bugs.ts
 */
import { execFile } from 'node:child_process'

import { bug, plantAll, tableOf, type Bug, type Catch } from '../planting.ts'

/** Runs of the model against one bug. */
const RUNS = 200
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 240_000

export const BUGS: readonly Bug[] = [
  bug(
    'ladder: a rung is stood on in spite of a late event',
    'ladder.ts',
    'else if (entry.at < topAt) valid = false',
    'else if (entry.at < -1) valid = false',
  ),
  bug(
    'ladder: a late event goes before those of the same time',
    'fold.ts',
    'findLastIndex(({ at }) => at <= entry.at)',
    'findLastIndex(({ at }) => at < entry.at)',
  ),
  bug(
    'ladder: a mark above the place of a late event is kept',
    'fold.ts',
    'const marks = this.#marks.filter(({ n }) => n <= place)',
    'const marks = this.#marks.filter(({ n }) => n <= place + 1)',
  ),
  bug(
    'ladder: a late event from below the window goes where it begins',
    'fold.ts',
    'else if (at >= this.#baseAt) this.#insert',
    'else if (at >= -1) this.#insert',
  ),
  bug(
    'ladder: what is only tried shows in what is durable',
    'fold.ts',
    'this.#shared = from.#shared = true',
    'this.#shared = from.#shared = false',
  ),
  bug(
    'ledger: a repeated request is refused by the state of today',
    'releasing.ts',
    'else if (requestId === undefined) finish(request, position)',
    'else if (position >= 0) finish(request, position)',
  ),
  bug(
    'ledger: what happens without an event is not entered',
    'batch.ts',
    'if (requestId !== undefined)\n',
    'if (requestId !== undefined && request.events.length > 0)\n',
  ),
  bug(
    'ledger: whoever repeats an id is given the answer to something else',
    'routing.ts',
    'if (before !== fingerprint) {',
    'if (before === undefined) {',
  ),
  bug(
    'ledger: a stored answer goes to the first of the batch',
    'committing.ts',
    'flight.find(({ asking }) => asking.requestId === key)',
    'flight.find(({ asking }) => asking.requestId !== undefined || key === undefined)',
  ),
  bug(
    'pipeline: an answer is heard before what it rests on is durable',
    'deciding.ts',
    "request.outcome !== 'accept' && entity.next === NONE && entity.flight === NONE",
    "request.outcome !== 'accept' && entity.next === NONE",
  ),
  bug(
    'pipeline: what was decided behind a refused batch stays decided',
    'committing.ts',
    'entity.flight = NONE\n  entity.next = NONE\n  entity.backlog = [...again',
    'entity.flight = NONE\n  entity.next = NONE\n  if (again.length > 1) entity.next = [again.pop()!]\n  entity.backlog = [...again',
  ),
  bug(
    'pipeline: commands that are decided again are so in any order',
    'committing.ts',
    'again.toSorted((a, b) => a.arrival - b.arrival)',
    'again.toReversed()',
  ),
  bug(
    'pipeline: a batch is good whoever has written to the stream since',
    'batch.ts',
    'expected: base.version',
    "expected: 'any'",
  ),
]

/** First the tree without a bug, then each bug. */
export function plantBugs(): Promise<readonly Catch[]> {
  return plantAll({
    bugs: BUGS,
    folder: 'src/entity/internal',
    tests: 'test/entity',
    run: async (copy) => saidIn(await runModel(copy)),
  })
}

/** What the model test of a copy says. It is a process of its own: what it breaks is its own, too. */
async function runModel(copy: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, MODEL_SEED: __, ...rest } = process.env
  const options = {
    cwd: copy,
    env: { ...rest, MODEL_RUNS: `${RUNS}` },
    timeout: RUN_MS_MAX,
    maxBuffer: 2 ** 26,
  }
  return new Promise((resolve) => {
    const script = 'test/entity/model.slow.test.ts'
    execFile(process.execPath, [script], options, (error, stdout, stderr) => {
      const killed = error?.killed === true ? 'the run was killed' : ''
      resolve(`${stdout}\n${stderr}\n${killed}`)
    })
  })
}

function saidIn(output: string): string | undefined {
  const said = /model: (seed \d+: .*)/.exec(output)?.[1]
  if (said === undefined && !/^ℹ pass 1$/m.test(output))
    throw new Error(`the model test neither passed nor found a violation:\n${output}`)
  return said
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantBugs())}\n`)
