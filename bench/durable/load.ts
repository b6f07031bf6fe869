/**
 * Load on something durable, and how long it took. A round is over when nothing is left to do, not
 * when the last answer is in: work that is put off behind the answers belongs to the figure.
 */

const QUIET_MS = 10
const QUIET_TIMES = 5
/** Share of one core that an idle process uses at most; one that is kept waiting gets more. */
const QUIET_SHARE = 0.07
const BUSY_MS_MAX = 20_000

export type Load<Answer> = Readonly<{
  count: number
  inFlight: number
  issue: (index: number, lane: number) => PromiseLike<Answer>
  /** What an answer must be; anything else ends the run. */
  good: (answer: Answer) => boolean
}>

/** Issues `count` operations, at most `inFlight` at a time, the next as soon as one is answered. */
export function drive<Answer>({ count, inFlight, issue, good }: Load<Answer>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let issued = 0
  let answered = 0
  const lanes = Math.min(count, inFlight)
  for (let lane = 0; lane < lanes; lane++) {
    const step = (): void => {
      if (issued < count) issue(issued++, lane).then(onAnswer, reject)
    }
    const onAnswer = (answer: Answer): void => {
      answered += 1
      if (!good(answer)) reject(new Error(`answered ${JSON.stringify(answer)}`))
      else if (answered === count) resolve()
      else step()
    }
    step()
  }
  return promise
}

/** Settles when this process, all its threads included, has been idle for a while; answers since when. */
export async function quiet(): Promise<number> {
  const start = performance.now()
  let since = start
  let times = 0
  while (times < QUIET_TIMES) {
    const from = performance.now()
    const used = process.cpuUsage()
    await new Promise((wake) => setTimeout(wake, QUIET_MS))
    const { user, system } = process.cpuUsage(used)
    const share = (user + system) / 1_000 / (performance.now() - from)
    if (share > QUIET_SHARE) times = 0
    else if (times++ === 0) since = from
    if (from - start > BUSY_MS_MAX) throw new Error('the process does not come to rest')
  }
  return since
}

/** Milliseconds from the start until all is done, what was put off included. */
export async function untilQuiet(run: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await run()
  return (await quiet()) - start
}

/** Milliseconds until the last answer is in, where nothing else is asked. */
export async function untilAnswered<Answer>(load: Load<Answer>): Promise<number> {
  const start = performance.now()
  await drive(load)
  return performance.now() - start
}

/** How many operations fill a round of so many milliseconds; finding out warms everything up. */
export async function sized(
  roundMs: number,
  run: (count: number) => Promise<number>,
): Promise<number> {
  let count = 500
  let tookMs = await run(count)
  while (tookMs < roundMs / 2) {
    count *= 2
    tookMs = await run(count)
  }
  return Math.ceil((count * roundMs) / tookMs)
}
