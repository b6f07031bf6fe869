/** A journal whose process is killed again and again, under load and while it opens. */
import assert from 'node:assert/strict'

import { random, type Random } from '../../src/std/index.ts'
import type { Report } from './child.ts'
import { History, type Settled } from './history.ts'
import { isSaying, Subject, unlessKilled, type SubjectOptions } from './subject.ts'

export type Tally = {
  kills: number
  acknowledged: number
  /** Batches that were not answered when the kill came, and are there or not. */
  kept: number
  lost: number
  /** Kills that came before the journal was open again. */
  early: number
}

/** A way to end a process at a moment that is not of its choosing. */
type Ending =
  /** When it has said so much under load. */
  | Readonly<{ type: 'after'; reports: number }>
  /** Just before the nth write or flush, from the beginning or once it is under load. */
  | Readonly<{ type: 'at'; call: 'write' | 'sync'; nth: number; early: boolean }>

export async function killAgainAndAgain(
  directory: string,
  seed: number,
  kills: number,
): Promise<Tally> {
  const dice = random(seed)
  const history = new History()
  const tally: Tally = { kills: 0, acknowledged: 0, kept: 0, lost: 0, early: 0 }
  while (tally.kills < kills) await live(directory, history, dice, tally)
  count(tally, await verify(directory, history))
  tally.acknowledged = history.acknowledged
  return tally
}

/** From outside, with strace: the first process dies at its first such call, the next at its second. */
export async function killAtCalls(directory: string, calls: string, most: number): Promise<Tally> {
  const history = new History()
  const tally: Tally = { kills: 0, acknowledged: 0, kept: 0, lost: 0, early: 0 }
  for (let nth = 1; nth <= most; nth++) {
    const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:signal=SIGKILL:when=${nth}`]
    const wrapper = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', ...inject]
    await loadToDeath({ directory, wrapper }, history, tally, nth)
  }
  count(tally, await verify(directory, history))
  tally.acknowledged = history.acknowledged
  return tally
}

/** Kills a journal with so many events again and again, and says how long until it has committed. */
export async function readyAgain(
  directory: string,
  events: number,
  times: number,
): Promise<number[]> {
  const history = new History()
  const perBatch = 500
  {
    await using subject = listen({ directory }, history)
    await subject.open()
    subject.tell({ type: 'fill', next: 1, batches: events / perBatch, events: perBatch })
    await subject.report('filled')
  }
  const ready: number[] = []
  while (ready.length < times) {
    await using subject = listen({ directory }, history)
    ready.push((await subject.open(history.start().next)).readyMs)
    subject.tell({ type: 'fill', next: history.start().next, batches: 1_000, events: 1 })
    await subject.report('filled')
  }
  await verify(directory, history)
  return ready
}

/** One process, from its start to its death. */
async function live(
  directory: string,
  history: History,
  dice: Random,
  tally: Tally,
): Promise<void> {
  const ending = drawEnding(dice)
  const seed = dice.below(2 ** 32)
  const size = dice.below(6) === 0 ? ({ size: 'large' } as const) : {}
  if (ending.type === 'after')
    return loadToDeath({ directory }, history, tally, seed, { ...ending, ...size })
  const line = `!kill ${ending.call} ${ending.nth}`
  const when = ending.early ? 'early' : 'late'
  await loadToDeath({ directory, faults: {} }, history, tally, seed, { [when]: line, ...size })
}

type Fate = Readonly<{ reports?: number; early?: string; late?: string; size?: 'large' }>

/** Says to the shim what is in `fate` before the journal is open, or once it is under load. */
async function loadToDeath(
  options: Omit<SubjectOptions, 'onReport'>,
  history: History,
  tally: Tally,
  seed: number,
  { reports, early, late, size }: Fate = {},
): Promise<void> {
  let heard = 0
  await using subject = listen(options, history, () => {
    if (++heard === reports) subject.kill()
  })
  if (early !== undefined) subject.tell({ type: 'faults', line: early })
  await openAndLoad()
  const { code, signal, stderr } = await subject.exited
  assert.equal(signal, 'SIGKILL', `it ended by itself (${code})\n${stderr}`)
  tally.kills++

  async function openAndLoad(): Promise<void> {
    const opened = await unlessKilled(subject.open())
    if (opened === undefined) return void tally.early++
    const dump = await unlessKilled(subject.dump(history.keys))
    if (dump === undefined) return
    count(tally, history.settle(dump))
    if (late !== undefined) subject.tell({ type: 'faults', line: late })
    const start = history.start()
    subject.tell({
      type: 'load',
      options: { ...start, seed, ...(size && { size }) },
      watched: true,
    })
  }
}

async function verify(directory: string, history: History): Promise<Settled> {
  await using subject = listen({ directory }, history)
  await subject.open()
  return history.settle(await subject.dump(history.keys))
}

function count(tally: Tally, { kept, lost }: Settled): void {
  tally.kept += kept
  tally.lost += lost
}

/** A subject whose every word goes into the history. */
export function listen(
  options: Omit<SubjectOptions, 'onReport'>,
  history: History,
  onSaying?: (report: Report) => void,
): Subject {
  return new Subject({
    ...options,
    onReport(report) {
      if (!isSaying(report)) return
      history.note(report)
      onSaying?.(report)
    },
  })
}

function drawEnding(dice: Random): Ending {
  if (dice.below(3) > 0) return { type: 'after', reports: 1 + dice.below(700) }
  const call = dice.pick(['write', 'sync'] as const)
  const early = dice.below(2) === 0
  const most = call === 'sync' ? 40 : early ? 200 : 400
  return { type: 'at', call, nth: 1 + dice.below(early ? most / 4 : most), early }
}
