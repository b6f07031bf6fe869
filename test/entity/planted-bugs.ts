/**
 * Proof that the model bites: plants one bug after the other and sees each caught.
 *
 *   node test/entity/planted-bugs.ts
 *
 * Each bug is a small change of the text of the runtime, made in a copy of the tree outside of it. A
 * change whose place is not found exactly once is an error: the runtime has moved, and the bug has to
 * be planted anew. The copy without a bug must pass, or a catch would mean nothing.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/** `find` is replaced by `put` in a file of `src/entity/internal`. */
export type Bug = Readonly<{ name: string; file: string; find: string; put: string }>

export type Catch = Readonly<{
  bug: string
  /** What the model said, undefined where it said nothing. */
  said: string | undefined
}>

const ROOT = join(import.meta.dirname, '../..')
/** Runs of the model against one bug. */
const RUNS = 200
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 120_000

export const BUGS: readonly Bug[] = [
  {
    name: 'ladder: a rung is stood on in spite of a late event',
    file: 'ladder.ts',
    find: 'else if (entry.at < topAt) valid = false',
    put: 'else if (entry.at < -1) valid = false',
  },
  {
    name: 'ladder: a late event goes before those of the same time',
    file: 'fold.ts',
    find: 'findLastIndex(({ at }) => at <= entry.at)',
    put: 'findLastIndex(({ at }) => at < entry.at)',
  },
  {
    name: 'ladder: a mark above the place of a late event is kept',
    file: 'fold.ts',
    find: 'const marks = this.#marks.filter(({ n }) => n <= place)',
    put: 'const marks = this.#marks.filter(({ n }) => n <= place + 1)',
  },
  {
    name: 'ladder: a late event from below the window goes where it begins',
    file: 'fold.ts',
    find: 'else if (at >= this.#baseAt) this.#insert',
    put: 'else if (at >= -1) this.#insert',
  },
  {
    name: 'ladder: what is only tried shows in what is durable',
    file: 'fold.ts',
    find: 'this.#shared = from.#shared = true',
    put: 'this.#shared = from.#shared = false',
  },
  {
    name: 'ledger: a repeated request is refused by the state of today',
    file: 'releasing.ts',
    find: 'else if (requestId === undefined) finish(request, position)',
    put: 'else if (position >= 0) finish(request, position)',
  },
  {
    name: 'ledger: what happens without an event is not entered',
    file: 'batch.ts',
    find: 'if (requestId !== undefined)\n',
    put: 'if (requestId !== undefined && request.events.length > 0)\n',
  },
  {
    name: 'ledger: whoever repeats an id is given the answer to something else',
    file: 'routing.ts',
    find: 'if (before !== fingerprint) {',
    put: 'if (before === undefined) {',
  },
  {
    name: 'ledger: a stored answer goes to the first of the batch',
    file: 'committing.ts',
    find: 'flight.find(({ asking }) => asking.requestId === key)',
    put: 'flight.find(({ asking }) => asking.requestId !== undefined || key === undefined)',
  },
  {
    name: 'pipeline: an answer is heard before what it rests on is durable',
    file: 'deciding.ts',
    find: "request.outcome !== 'accept' && entity.next === NONE && entity.flight === NONE",
    put: "request.outcome !== 'accept' && entity.next === NONE",
  },
  {
    name: 'pipeline: what was decided behind a refused batch stays decided',
    file: 'committing.ts',
    find: 'entity.flight = NONE\n  entity.next = NONE\n  entity.backlog = [...again',
    put: 'entity.flight = NONE\n  entity.next = NONE\n  if (again.length > 1) entity.next = [again.pop()!]\n  entity.backlog = [...again',
  },
  {
    name: 'pipeline: commands that are decided again are so in any order',
    file: 'committing.ts',
    find: 'again.toSorted((a, b) => a.arrival - b.arrival)',
    put: 'again.toReversed()',
  },
  {
    name: 'pipeline: a batch is good whoever has written to the stream since',
    file: 'batch.ts',
    find: 'expected: base.version',
    put: "expected: 'any'",
  },
]

/** First the tree without a bug, then each bug. */
export async function plantAll(): Promise<readonly Catch[]> {
  const all: (Bug | undefined)[] = [undefined, ...BUGS]
  const catches: Catch[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) catches[at] = await plant(all[at])
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return catches
}

async function plant(bug: Bug | undefined): Promise<Catch> {
  const copy = mkdtempSync(join(tmpdir(), 'planted-bug-'))
  try {
    for (const part of ['src', 'test/entity', 'package.json'])
      cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    if (bug !== undefined) change(copy, bug)
    return { bug: bug?.name ?? 'none', said: saidIn(await runModel(copy)) }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function change(copy: string, { name, file, find, put }: Bug): void {
  const path = join(copy, 'src/entity/internal', file)
  const text = readFileSync(path, 'utf8')
  const found = text.split(find).length - 1
  if (found !== 1) throw new Error(`${name}: ${file} has ${found} places for it: ${find}`)
  writeFileSync(path, text.replace(find, put))
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

/** What was caught, for people. */
export function tableOf(catches: readonly Catch[]): string {
  const width = Math.max(...catches.map(({ bug }) => bug.length))
  return catches.map(({ bug, said }) => `${bug.padEnd(width)}  ${said ?? 'not caught'}`).join('\n')
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantAll())}\n`)
