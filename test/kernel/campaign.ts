/**
 * Many programs, one after the other, to the first that fails; that one is cut down and shown.
 *
 *   MODEL_SEED=17        runs the program of this seed alone, in both modes
 *   MODEL_PROGRAMS=500   runs so many
 *   MODEL_SHRINK=no      shows a failing program as it is
 */
import { AssertionError } from 'node:assert'

import type { Met } from './model/accounts.ts'
import type { Mode, Violation } from './pair.ts'
import { programOf } from './program-writer.ts'
import { PLAIN, type Program } from './program.ts'
import { run } from './run.ts'
import { shrink } from './shrink.ts'

export type Tally = Readonly<{ programs: number; met: Record<string, number> }>

/** Which seeds a test is to run, unless the environment says otherwise. */
export function seedsFrom(first: number, count: number): readonly [first: number, count: number] {
  const { MODEL_SEED: seed, MODEL_PROGRAMS: programs } = process.env
  if (seed !== undefined) return [Number(seed), 1]
  return [first, programs === undefined ? count : Number(programs)]
}

/** Runs the programs of `count` seeds from `first`; throws at the first that does not as the model says. */
export async function campaign(mode: Mode, first: number, count: number): Promise<Tally> {
  const met: Record<string, number> = {}
  const add = (what: string, times: number): void => void (met[what] = (met[what] ?? 0) + times)
  for (let seed = first; seed < first + count; seed++) {
    const program = programOf(seed)
    const { violation, accounts } = await run(program, mode)
    if (violation !== undefined) throw await failure(program, mode, violation)
    const { retries, restarts, escalations, unbalanced, cycles, deadBy } = accounts
    for (const [what, times] of Object.entries<number>(accounts.met satisfies Met)) add(what, times)
    for (const [reason, times] of Object.entries(deadBy)) add(`dead letters: ${reason}`, times)
    add('messages handled', accounts.done.size)
    add('suspensions', accounts.suspends)
    for (const [what, times] of Object.entries({ retries, restarts, escalations })) add(what, times)
    add('a token resumed twice', unbalanced)
    add('a cycle of senders', cycles)
  }
  return { programs: count, met }
}

async function failure(
  program: Program,
  mode: Mode,
  violation: Violation,
): Promise<AssertionError> {
  const { seed } = program
  const small =
    process.env['MODEL_SHRINK'] === 'no' ? program : await cutDown(program, mode, violation)
  const plain = JSON.stringify(PLAIN)
  const lines = small.ops.map(
    (op, step) => `  ${step} ${JSON.stringify(op).replaceAll(plain, 'PLAIN')}`,
  )
  const message = [
    `${mode}: seed ${seed}, step ${violation.step}: ${violation.what}`,
    `again: MODEL_SEED=${seed} npm test -- kernel/model.test`,
    `with a reading of the host's clock every ${small.tickMs} ms:`,
    ...lines,
  ].join('\n')
  return new AssertionError({ message })
}

/** The smallest program that fails in the same way, numbers aside. */
async function cutDown(program: Program, mode: Mode, violation: Violation): Promise<Program> {
  const kind = kindOf(violation)
  return shrink(program, async (smaller) => {
    const again = await run(smaller, mode)
    return again.violation !== undefined && kindOf(again.violation) === kind
  })
}

function kindOf({ what }: Violation): string {
  return what.replaceAll(/\d+/g, '#')
}
