/**
 * Proof that the model bites: plants one bug after the other and sees each caught.
 *
 *   node test/kernel/planted-bugs.ts
 *
 * Each bug is a small change of the kernel's text, made in a copy of the tree outside of it. A change
 * whose place is no longer found exactly once is an error: the kernel has moved, and the bug has to
 * be planted anew. The copy without a bug must pass, or a catch would mean nothing.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/** `find` is replaced by `put` in a file of `src/kernel/internal`. */
export type Change = Readonly<{ file: string; find: string; put: string }>
export type Bug = Readonly<{ name: string; changes: readonly Change[] }>

export type Verdict = Readonly<{
  bug: string
  /** The first mode in which it was caught; undefined where it was not. */
  caught: Readonly<{ mode: string; seed: number; step: number; what: string }> | undefined
}>

const ROOT = join(import.meta.dirname, '../..')
/** Programs of each mode that are run against one bug. */
const PROGRAMS = 1_500
/** A copy that takes longer hangs, which is not the kind of catch that is wanted. */
const RUN_MS_MAX = 240_000

export const BUGS: readonly Bug[] = [
  bug('nobody looks again after a run', 'invoker.ts', 'return YIELDED', 'return COMPLETED'),
  bug(
    'a suspended actor stays in the ready queue',
    'cell.ts',
    'cell.mail.queued && (cell.status & SYSTEM) === 0',
    'cell.mail.queued && cell.status === -1',
  ),
  {
    name: 'suspended is a flag and not a counter',
    changes: [
      {
        file: 'cell.ts',
        find: 'cell.status = before + SUSPEND',
        put: 'cell.status = before | SUSPEND',
      },
      { file: 'cell.ts', find: 'cell.status -= SUSPEND', put: 'cell.status &= ~SUSPEND' },
    ],
  },
  bug('an address outlives its actor', 'registry.ts', 'this.#generations[slot]!++', 'void 0'),
  bug('a ring that grows is copied from 0', 'dispatch.ts', 'old[(head + at) & mask]', 'old[at]'),
  bug(
    'the next chunk of a mailbox is begun at its second message',
    'mailbox.ts',
    'this.#head = next\n    this.#headAt = 0',
    'this.#head = next\n    this.#headAt = 1',
  ),
  bug(
    'a token can be resumed twice',
    'tokens.ts',
    'if (!this.active) {\n      cell.core.metrics.resumeUnbalanced++\n      return',
    'if (!this.active) {\n      cell.core.metrics.resumeUnbalanced++\n      dropUnit(cell)\n      return',
  ),
  bug(
    'a timer that is cancelled still arrives where it has expired',
    'actor-timers.ts',
    'keyed.cancelled = true',
    'void 0',
  ),
  bug(
    'mail that surfaces overtakes what surfaced before',
    'mailbox.ts',
    ';(this.front ??= new Deque()).pushBack(message)',
    ';(this.front ??= new Deque()).pushFront(message)',
  ),
  bug(
    'a promise of an earlier life still counts',
    'lifecycle.ts',
    'extras.awaiting?.abandon()',
    'void 0',
  ),
  bug(
    'drop-oldest drops the newest',
    'delivery.ts',
    "core.deadLetters.add(cell.path, oldest, 'dropped-oldest')\n      put(cell, message)",
    "core.deadLetters.add(cell.path, message, 'dropped-oldest')\n      put(cell, oldest)",
  ),
  bug(
    'one more than the bound',
    'delivery.ts',
    'if (roomOf(cell) <= 0 ||',
    'if (roomOf(cell) < 0 ||',
  ),
  bug(
    'system work does not wake who is suspended',
    'cell.ts',
    'if ((cell.status & SYSTEM) !== 0) return true',
    'if ((cell.status & SYSTEM) !== 0 && (cell.status & HALTED) === 0) return true',
  ),
  bug(
    'what was put aside comes back in reverse',
    'stash.ts',
    'mail.putBack(aside.popBack())',
    'mail.putBack(aside.popFront())',
  ),
  bug(
    'whoever waits for room is let in one too many',
    'capacity.ts',
    'mail.room < Math.max(threshold, next.wants)',
    'mail.room < Math.max(threshold, next.wants) - 1',
  ),
  bug(
    'an ending actor leaves its tokens active',
    'lifecycle.ts',
    'dropTokens(cell)\n  dropOutbox(cell)',
    'dropOutbox(cell)',
  ),
  bug(
    'the end of a turn is settled on a mailbox that has gone to another',
    'run-loop.ts',
    'if (cell.mail === mail) ready.settle',
    'if (cell.mail !== undefined) ready.settle',
  ),
  bug(
    'a retry begins to count anew each time',
    'failing.ts',
    'extras.failing = { mail, attempts: attempt }',
    'extras.failing = { mail, attempts: 0 }',
  ),
]

function bug(name: string, file: string, find: string, put: string): Bug {
  return { name, changes: [{ file, find, put }] }
}

/** The verdict on the tree without a bug, then on each bug. */
export async function plantAll(): Promise<readonly Verdict[]> {
  const bugs: Bug[] = [{ name: 'none', changes: [] }, ...BUGS]
  const verdicts: Verdict[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < bugs.length; at = next++) verdicts[at] = await plant(bugs[at]!)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return verdicts
}

async function plant(bugToPlant: Bug): Promise<Verdict> {
  const copy = mkdtempSync(join(tmpdir(), 'planted-bug-'))
  try {
    for (const part of ['src', 'test/kernel', 'package.json']) {
      cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    }
    for (const change of bugToPlant.changes) apply(copy, bugToPlant.name, change)
    return { bug: bugToPlant.name, caught: catchOf(await runModel(copy)) }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function apply(copy: string, name: string, { file, find, put }: Change): void {
  const path = join(copy, 'src/kernel/internal', file)
  const text = readFileSync(path, 'utf8')
  const found = text.split(find).length - 1
  if (found !== 1) throw new Error(`${name}: ${file} has ${found} places for it: ${find}`)
  writeFileSync(path, text.replace(find, put))
}

/** What the model test of a copy says. It is a process of its own: what it breaks is its own, too. */
async function runModel(copy: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, MODEL_SEED: __, ...rest } = process.env
  const env = { ...rest, MODEL_PROGRAMS: `${PROGRAMS}`, MODEL_SHRINK: 'no' }
  return new Promise((resolve) => {
    const options = { cwd: copy, env, timeout: RUN_MS_MAX, maxBuffer: 2 ** 26 }
    execFile(process.execPath, ['test/kernel/model.test.ts'], options, (error, stdout, stderr) => {
      const killed = error?.killed === true ? 'the run was killed' : ''
      resolve(`${stdout}\n${stderr}\n${killed}`)
    })
  })
}

function catchOf(output: string): Verdict['caught'] {
  const violation = /(stepped|express): seed (\d+), step (\d+): (.*)/.exec(output)
  if (violation === null) {
    if (/^ℹ pass 2$/m.test(output)) return undefined
    throw new Error(`the model test neither passed nor found a violation:\n${output}`)
  }
  const [, mode = '', seed, step, what = ''] = violation
  return { mode, seed: Number(seed), step: Number(step), what }
}

/** The verdicts as a table for people. */
export function tableOf(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ bug: name, caught }) =>
    caught === undefined
      ? [name, 'not caught', '', '', '']
      : [name, caught.mode, `${caught.seed}`, `${caught.step}`, caught.what],
  )
  const all = [['bug', 'mode', 'seed', 'step', 'what the model said'], ...rows]
  const widths = [0, 1, 2, 3].map((at) => Math.max(...all.map((row) => row[at]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

if (import.meta.main) process.stdout.write(`${tableOf(await plantAll())}\n`)
