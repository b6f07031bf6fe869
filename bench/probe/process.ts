/**
 * One orchestrator with so many tests that have been initialized, in a fresh process.
 *
 *     node --expose-gc bench/probe/process.ts COUNT [ROUNDS]
 *
 * Started by the suite it answers each message with the samples of one round; started by hand it prints
 * those of a few. All requests go one after the other, through the facade. `statusUs` is of ten tests that
 * are asked for in turn, as clients poll them; `anyUs` of all, none of which is in any cache. Time is what
 * the thread spends: what others do to the machine meanwhile is not part of it.
 */
import { memoryJournal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { createProbe, type Probe } from '../../src/probe/index.ts'
import { isFault } from '../../src/std/index.ts'
import { PORTS } from './ports.ts'

export type Samples = Readonly<{ statusUs: number; anyUs: number; startUs: number }>

const STATUSES = 5_000
const STARTS = 200
const IN_FLIGHT = 1_000
const POLLED = 10
const STRIDE = 7_919 // a prime: neighbours in memory are not asked one after the other

const [, , countText = '10', roundsText = '3'] = process.argv
const count = Number(countText)
const probe = await createProbe({
  system: createSystem(),
  journal: await memoryJournal(),
  ports: PORTS,
  settings: { setupMs: 86_400_000 },
})
const ids: string[] = []
while (ids.length < count)
  ids.push(...(await initialized(probe, Math.min(IN_FLIGHT, count - ids.length))))

if (process.send === undefined) {
  for (let n = 0; n < Number(roundsText); n++)
    process.stdout.write(`${JSON.stringify(await round())}\n`)
  process.exit(0)
}
process.on('message', () => {
  round().then(
    (samples) => process.send!({ samples }),
    (error: unknown) => process.send!({ error: String(error) }),
  )
})
process.send({ ready: true })

async function round(): Promise<Samples> {
  const fresh = await initialized(probe, STARTS)
  globalThis.gc?.()
  const statusUs = await statuses(POLLED)
  const anyUs = await statuses(ids.length)
  const startFrom = spentMs()
  for (const testId of fresh) granted(await probe.start(testId, { bucket: '/a' }))
  const startUs = ((spentMs() - startFrom) * 1_000) / STARTS
  for (const testId of fresh) granted(await probe.cancel(testId))
  return { statusUs, anyUs, startUs }
}

/** Of so many tests, in turn. */
async function statuses(among: number): Promise<number> {
  let at = 0
  const from = spentMs()
  for (let n = 0; n < STATUSES; n++) {
    at = (at + STRIDE) % among
    granted(await probe.status(ids[at]!))
  }
  return ((spentMs() - from) * 1_000) / STATUSES
}

function spentMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

async function initialized(by: Probe, many: number): Promise<readonly string[]> {
  const answers = await Promise.all(Array.from({ length: many }, () => by.initialize()))
  return answers.map((answer) => granted(answer).testId)
}

function granted<T>(answer: T): Exclude<T, { ok: false }> {
  if (isFault(answer)) throw new Error(answer.message)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is left when it is no fault
  return answer as Exclude<T, { ok: false }>
}
