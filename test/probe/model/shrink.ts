/** Cuts a program that goes wrong down to what is needed to go wrong. */
import { goodScript, type Op, type Program } from './program.ts'

/** Programs that may be tried on the way. */
const TRIES_MAX = 400

/** The smallest program found of which `fails` is true, as it is of `program`. */
export async function shrink(
  program: Program,
  fails: (program: Program) => Promise<boolean>,
): Promise<Program> {
  let best = program
  let tries = 0
  const attempt = async (change: Partial<Program>): Promise<boolean> => {
    const smaller = { ...best, ...change }
    if (++tries > TRIES_MAX || !(await fails(smaller))) return false
    best = smaller
    return true
  }
  await attempt({ troubles: [] })
  await attempt({ order: 'arrival' })
  for (let before = Infinity; sizeOf(best) < before;) {
    before = sizeOf(best)
    for (let at = best.ops.length - 1; at >= 0; at--)
      await attempt({ ops: best.ops.toSpliced(at, 1) })
    for (let at = 0; at < best.ops.length; at++)
      for (const simpler of simplerOps(best.ops[at]!))
        await attempt({ ops: best.ops.with(at, simpler) })
  }
  return best
}

/** What it would take to print: the measure of progress. */
function sizeOf({ ops }: Program): number {
  return JSON.stringify(ops).length
}

function simplerOps(op: Op): readonly Op[] {
  const simpler: Op[] = []
  if (op.turns > 0) simpler.push({ ...op, turns: -1 }, { ...op, turns: 0 })
  if (op.do === 'start') {
    simpler.push({ ...op, script: goodScript([]), exclusive: [] }, { ...op, exclusive: [] })
    const good = goodScript([])
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a script
    for (const part of Object.keys(good) as (keyof typeof good)[])
      if (JSON.stringify(op.script[part]) !== JSON.stringify(good[part]))
        simpler.push({ ...op, script: { ...op.script, [part]: good[part] } })
    if (op.requestId !== undefined || op.priority !== undefined) {
      const { requestId: _r, priority: _p, ...rest } = op
      simpler.push(rest)
    }
  }
  if ((op.do === 'end' || op.do === 'throw') && op.times > 1) simpler.push({ ...op, times: 1 })
  return simpler.filter((each) => JSON.stringify(each) !== JSON.stringify(op))
}
