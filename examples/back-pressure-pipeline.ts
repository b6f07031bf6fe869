/**
 * A pipeline whose last stage is the slowest.
 *
 *   source --tell--> parser --tell--> store, which flushes now and then and waits for it
 *
 * Mailboxes are small, and whoever tells a full one is suspended until there is room. So the pace of
 * the store reaches the source through the parser, memory stays flat, and nobody writes code for it.
 */
import {
  createSystem,
  receive,
  setup,
  type Behavior,
  type Ref,
  type System,
} from '../src/kernel/index.ts'
import { assert, type Clock } from '../src/std/index.ts'

export const title = 'A back-pressure pipeline: the slowest sets the pace'

const RECORDS = 5_000
const BATCH = 50
const BOUND = 64
const FLUSH_MS = 1

const PATIENT = { bound: BOUND, overflow: 'suspend-sender' } as const

/** Says a batch of lines and tells itself to go on: between two batches others have their turn. */
export function source(next: Ref<string>): Behavior<number> {
  return receive((ctx, from) => {
    for (let n = from; n < from + BATCH; n++) next.tell(`record ${n}`)
    if (from + BATCH < RECORDS) ctx.self.tell(from + BATCH)
  })
}

export function parser(next: Ref<number>): Behavior<string> {
  return receive((_ctx, line) => {
    next.tell(Number(line.split(' ')[1]))
  })
}

/** An async handler: the store takes nothing more until its flush is over. */
export function store(
  flush: () => Promise<void>,
  done: (stored: number[]) => void,
): Behavior<number> {
  return setup(() => {
    const stored: number[] = []
    return receive((_ctx, record) => {
      stored.push(record)
      if (stored.length === RECORDS) done(stored)
      return stored.length % BOUND === 0 ? flush() : undefined
    })
  })
}

export async function show(print: (line: string) => void): Promise<void> {
  await using system = createSystem()
  const rests = restsOf(system)

  const startMs = system.clock.monotonic()
  const stored = await new Promise<number[]>((done) => {
    const last = system.spawn(
      'store',
      store(() => pause(system.clock, FLUSH_MS), done),
      PATIENT,
    )
    const middle = system.spawn('parser', parser(last), PATIENT)
    system.spawn('source', source(middle)).tell(0)
  })
  const ms = system.clock.monotonic() - startMs

  for (const actor of ['/source', '/parser']) {
    const { times, ms: restedMs } = rests.of(actor)
    print(
      `${actor} waited for room ${times} times, ${Math.round((100 * restedMs) / ms)} % of the time`,
    )
  }
  const inOrder = stored.every((record, n) => record === n)
  print(`${stored.length} of ${RECORDS} records stored, ${inOrder ? 'in order' : 'out of order'}`)

  assert(stored.length === RECORDS && inOrder, 'nothing is lost and order is kept')
  assert(system.deadLetters.length === 0, 'nothing is a dead letter')
  assert(rests.of('/source').times > 0, 'the source was made to wait')
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(clock.monotonic() + ms, resolve))
}

type Rest = Readonly<{ times: number; ms: number; since: number }>

/** Reads from the trace how often and how long each actor was suspended. */
function restsOf(system: System): Readonly<{ of: (actor: string) => Rest }> {
  const rests = new Map<string, Rest>()
  const of = (actor: string): Rest => rests.get(actor) ?? { times: 0, ms: 0, since: 0 }
  system.trace(({ actor, type, at }) => {
    const rest = of(actor)
    if (type === 'suspended') rests.set(actor, { ...rest, times: rest.times + 1, since: at })
    if (type === 'resumed') rests.set(actor, { ...rest, ms: rest.ms + at - rest.since })
  })
  return { of }
}
