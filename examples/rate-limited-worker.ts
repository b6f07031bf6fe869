/**
 * A worker that may do so many jobs in a stretch of time and no more.
 *
 * It does not count what it turns away, and it needs no queue of its own: having done its share it
 * suspends itself. Meanwhile jobs wait in its mailbox, in order, and it costs nothing.
 */
import { after, receive, setup, type Behavior, type Ref } from '../src/kernel/index.ts'
import { assert } from '../src/std/index.ts'
import { world } from '../src/testkit/index.ts'

export const title = 'A rate-limited worker: resting until a time has come'

export type Job = Readonly<{ type: 'do'; job: number }>
export type Done = Readonly<{ type: 'done'; job: number }>

/** Never more than `jobs` within any `ms`. */
export type Rate = Readonly<{ jobs: number; ms: number }>

export function worker(rate: Rate, replyTo: Ref<Done>): Behavior<Job> {
  return setup(() => {
    let done = 0
    return receive((ctx, { job }) => {
      replyTo.tell({ type: 'done', job })
      // Takes effect after this message, and ends by itself.
      if (++done % rate.jobs === 0) ctx.suspend('rate-limit', after(rate.ms))
    })
  })
}

/** On virtual time: three seconds of waiting take a few milliseconds. */
export async function show(print: (line: string) => void): Promise<void> {
  await using office = world()
  const answers = office.inbox<Done>('answers')
  const clerk = office.system.spawn('clerk', worker({ jobs: 3, ms: 1_000 }, answers))

  for (let job = 1; job <= 10; job++) clerk.tell({ type: 'do', job })
  const doneAt = new Map<number, number[]>()
  for (let n = 1; n <= 10; n++) {
    const { job } = await answers.take({ withinMs: 2_000 })
    const at = office.clock.monotonic()
    doneAt.set(at, [...(doneAt.get(at) ?? []), job])
  }
  for (const [at, jobs] of doneAt) print(`at ${String(at).padStart(4)} ms  jobs ${jobs.join(', ')}`)

  const { suspend_count, suspended_ms_total } = office.system.metrics()
  print(`suspended ${suspend_count} times, ${suspended_ms_total} ms in all`)

  const [times, jobs] = [[...doneAt.keys()], [...doneAt.values()].flat()]
  assert(times.join() === '0,1000,2000,3000', 'three jobs a second')
  assert(jobs.join() === '1,2,3,4,5,6,7,8,9,10', 'in the order they came')
}
