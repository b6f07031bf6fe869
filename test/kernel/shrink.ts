/** Cuts a failing program down to what is needed to fail. */
import {
  IDLE,
  PLAIN,
  type Act,
  type Nature,
  type Op,
  type OwnAct,
  type Program,
  type Script,
} from './program.ts'

/** Programs that may be tried on the way. */
const TRIES_MAX = 2_000

/** The smallest program found of which `fails` is true, as it is of `program`. */
export async function shrink(
  program: Program,
  fails: (program: Program) => Promise<boolean>,
): Promise<Program> {
  let tries = 0
  let best = program
  const attempt = async (ops: readonly Op[]): Promise<boolean> => {
    const smaller = { ...best, ops }
    if (++tries > TRIES_MAX || !(await fails(smaller))) return false
    best = smaller
    return true
  }
  let before = Infinity
  while (size(best) < before) {
    before = size(best)
    await dropOps(() => best.ops, attempt)
    for (let at = 0; at < best.ops.length; at++) {
      for (const simpler of simplerOps(best.ops[at]!)) {
        if (await attempt(best.ops.with(at, simpler))) at = -1
        if (at < 0) break
      }
    }
  }
  return best
}

/** What the program would take to print: the measure of progress. */
function size(program: Program): number {
  return JSON.stringify(program.ops).length
}

async function dropOps(
  ops: () => readonly Op[],
  attempt: (ops: readonly Op[]) => Promise<boolean>,
): Promise<void> {
  for (let chunk = ops().length >> 1; chunk >= 1; chunk >>= 1) {
    for (let at = ops().length - chunk; at >= 0; at -= chunk) {
      await attempt(ops().toSpliced(at, chunk))
      at = Math.min(at, ops().length)
    }
  }
}

function simplerOps(op: Op): Op[] {
  switch (op.type) {
    case 'send':
      return [
        ...(op.context ? [{ ...op, context: false }] : []),
        ...simplerScripts(op.script).map((script) => ({ ...op, script })),
      ]
    case 'offer':
    case 'tell-at':
      return simplerScripts(op.script).map((script) => ({ ...op, script }))
    case 'spawn':
      return simplerNatures(op.nature).map((nature) => ({ ...op, nature }))
    case 'flood':
      return op.count > 1
        ? [
            { ...op, count: op.count >> 1 },
            { ...op, count: op.count - 1 },
          ]
        : []
    case 'turns':
      return op.picks.length > 1 ? [{ ...op, picks: op.picks.slice(1) }] : []
    case 'suspend':
      return op.condition.type === 'manual' ? [] : [{ ...op, condition: { type: 'manual' } }]
    case 'stop':
    case 'resume':
    case 'signal':
    case 'address':
    case 'settle':
    case 'advance':
    case 'rest':
    case 'listen':
      return []
  }
}

function simplerScripts(script: Script): Script[] {
  const { acts, end } = script
  const simpler: Script[] = []
  if (acts.length > 0 && end.type !== 'ok') simpler.push(IDLE)
  for (let at = 0; at < acts.length; at++) simpler.push({ acts: acts.toSpliced(at, 1), end })
  if (end.type !== 'ok') simpler.push({ acts, end: { type: 'ok' } })
  if (end.type === 'async' && end.acts.length > 0) simpler.push({ acts, end: { ...end, acts: [] } })
  for (const [at, act] of acts.entries()) {
    for (const other of simplerActs(act)) simpler.push({ acts: acts.with(at, other), end })
  }
  return simpler
}

function simplerActs(act: OwnAct): OwnAct[] {
  if (act.type === 'timer' || act.type === 'watch') {
    return simplerScripts(act.script).map((script) => ({ ...act, script }))
  }
  if (act.type === 'cancel' || act.type === 'unstash' || act.type === 'unwatch') return []
  return simplerOps(act).filter((op): op is Act => op.type === act.type)
}

function simplerNatures(nature: Nature): Nature[] {
  if (nature.plain) return []
  const simpler: Nature[] = [PLAIN]
  const parts: Partial<Nature>[] = [
    { bound: PLAIN.bound, overflow: PLAIN.overflow },
    { priority: PLAIN.priority },
    { supervision: PLAIN.supervision },
    { stash: PLAIN.stash },
    { handlerMs: PLAIN.handlerMs },
    { setup: false, startThrows: 0 },
    { startThrows: 0 },
    { hook: 'none', hookActs: [] },
    { hookActs: [] },
    { heard: false },
  ]
  for (const part of parts) {
    const changed = { ...nature, ...part }
    if (JSON.stringify(changed) !== JSON.stringify(nature)) simpler.push(changed)
  }
  return simpler
}
