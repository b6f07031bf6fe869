/**
 * One contender, one workload, one fresh process. Derived from the peers' own worker.
 *
 *     node --expose-gc worker.mjs ADAPTER WORKLOAD '{"reps":3,"slowMs":600}'
 *
 * Warms up, then times repetitions, each from a collected heap, and answers
 * `{ n, samples: { rate: [...] } }` with one sample per repetition, or `{ skipped }`. Started by the
 * harness it says `ready` before each repetition and waits to be told, so that contenders take
 * turns; started by hand it goes ahead and prints the answer. A contender too slow for the full size
 * gets a tenth of it, as often as needed, and no further repetition after `slowMs`.
 */
/* oxlint-disable no-await-in-loop -- One thing at a time is the point. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { lateness, percentile } from './lateness.mjs'

const WINDOW = 1_000
const ACTORS = 100_000
const WARM_UPS = 5
const WARM_MS = 400
const SATURATED_MS = 250
const CYCLES = 100_000
const RESUMES = 10_000

const [, , file, workload, json] = process.argv
const { reps, slowMs } = JSON.parse(json)
const { default: adapter } = await import(pathToFileURL(resolve(file)).href)

const now = () => performance.now()
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms))
const perSecond = (count, ms) => (count * 1_000) / ms

const ownTurn = () =>
  process.send === undefined
    ? undefined
    : new Promise((go) => {
        process.once('message', go)
        process.send('ready')
      })

async function settle(times = 2) {
  for (let i = 0; i < times; i++) {
    await sleep(4)
    globalThis.gc()
  }
}

async function clocked(run) {
  const start = now()
  await run()
  return now() - start
}

async function repeated(once) {
  const results = []
  let spentMs = 0
  for (let i = 0; i < reps && spentMs < slowMs; i++) {
    await ownTurn()
    const start = now()
    results.push(await once())
    spentMs += now() - start
  }
  return results
}

/** Rates of `run(n)`, which handles `n * weight` messages. */
async function rates({ n, weight = 1, floor = 1_000, run }) {
  const small = Math.max(floor / 5, Math.round(n / 100))
  let eachMs = 0
  for (const k of [small, small, small * 4]) eachMs = (await clocked(() => run(k))) / k
  let size = n
  while (eachMs * size > slowMs && size > floor) size /= 10
  let warmMs = 0
  for (let i = 0; i < WARM_UPS && warmMs < WARM_MS; i++) {
    const ms = await clocked(() => run(size))
    eachMs = ms / size
    warmMs += ms
    if (size < n && eachMs * size * 10 < slowMs) size *= 10 // It was slow only while cold.
  }

  const rate = await repeated(async () => {
    await settle()
    return perSecond(size * weight, await clocked(() => run(size)))
  })
  return { n: size, samples: { rate } }
}

/** Actors per second of a tree with `10 ** depth` leaves. */
async function skynet(depth) {
  await adapter.skynet(3)
  const warmMs = await clocked(() => adapter.skynet(4))
  if (warmMs * 10 ** (depth - 4) > 15_000) return { skipped: 'would take more than 15 s' }
  if (warmMs < 60) for (let i = 0; i < 3; i++) await adapter.skynet(5)
  const size = depth === 5 && warmMs * 10 > slowMs ? 4 : depth
  const actors = (10 ** (size + 1) - 1) / 9
  const rate = await repeated(async () => {
    await settle()
    return perSecond(actors, await clocked(() => adapter.skynet(size)))
  })
  return { n: actors, samples: { rate } }
}

const inWindows = (tell) => async (n) => {
  for (let i = 0; i < n; i += WINDOW) await tell(WINDOW)
}

const heapBytes = () => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** One population: a function of its own, so that the last one is unreachable before the heap is read. */
async function population(count) {
  const before = heapBytes()
  const start = now()
  const many = await adapter.spawnMany(count)
  const spawnMs = now() - start
  await settle(3)
  const idle = heapBytes()
  const floodMs = await clocked(() => many.flood(10))
  await settle(3)
  const after = heapBytes()
  if (many.refs.length !== count) throw new Error(`spawned ${many.refs.length} of ${count}`)
  await many.stop?.()
  return {
    rate: perSecond(count * 10, floodMs),
    spawnNs: (spawnMs * 1e6) / count,
    bytesIdle: (idle - before) / count,
    bytesAfter: (after - before) / count,
    tookMs: spawnMs + floodMs,
  }
}

async function populations() {
  const small = ACTORS / 50
  await population(small)
  const { tookMs } = await population(small)
  const count = tookMs * 50 > slowMs ? ACTORS / 10 : ACTORS
  if (tookMs * 50 < 1_000) await population(ACTORS)

  const all = await repeated(async () => {
    await settle(3)
    return population(count)
  })
  return { n: count, samples: columns(all) }
}

function columns(rows) {
  const keys = Object.keys(rows[0])
  return Object.fromEntries(keys.map((key) => [key, rows.map((row) => row[key])]))
}

/** Lateness of a 1 ms timer: idle, under ping-pong, under flood, in turn. */
async function timers() {
  const flood = inWindows((n) => adapter.tellFlood(n))
  const sized = async (run) => {
    let n = 1_000
    let ms = await clocked(() => run(n))
    while (ms < 40 && n < 5e7) {
      n *= 4
      ms = await clocked(() => run(n))
    }
    return Math.round((n * SATURATED_MS) / ms)
  }
  const pingPongs = await sized((n) => adapter.pingPong(n))
  const floods = await sized(flood)
  const all = await repeated(async () => ({
    idle: await lateness(() => sleep(SATURATED_MS)),
    pingPong: await lateness(() => adapter.pingPong(pingPongs)),
    flood: await lateness(() => flood(floods)),
  }))
  return { n: SATURATED_MS, samples: columns(all) }
}

/** Suspend, send, resume, run; then the time from resume to the first message; alone and in company. */
async function suspensions() {
  const take = async () => {
    for (let i = 0; i < 2; i++) {
      await adapter.suspendCycles(CYCLES)
      await adapter.resumeFirst(RESUMES)
    }
    return repeated(async () => {
      await settle()
      const cycleMs = await clocked(() => adapter.suspendCycles(CYCLES))
      await settle()
      const firstUs = percentile(await adapter.resumeFirst(RESUMES), 0.99)
      return { cycleUs: (cycleMs * 1_000) / CYCLES, firstUs }
    })
  }
  const alone = columns(await take())
  const release = await adapter.park(ACTORS)
  const among = columns(await take())
  await release()
  const { cycleUs, firstUs } = alone
  return {
    n: CYCLES,
    samples: { cycleUs, firstUs, cycleAmongUs: among.cycleUs, firstAmongUs: among.firstUs },
  }
}

const WORKLOADS = {
  tellFlood: () => rates({ n: 1e6, run: (n) => adapter.tellFlood(n) }),
  tellWindow: () => rates({ n: 1e6, run: inWindows((n) => adapter.tellFlood(n)) }),
  tellAsync: () => rates({ n: 1e6, run: inWindows((n) => adapter.tellAsync(n)) }),
  pingPong: () => rates({ n: 1e6, weight: 2, run: (n) => adapter.pingPong(n) }),
  ring: () =>
    rates({ n: 1_000, weight: 1_000, floor: 50, run: (laps) => adapter.ring(1_000, laps) }),
  askSeq: () => rates({ n: 2e5, run: (n) => adapter.ask(n, 1) }),
  ask100: () => rates({ n: 2e5, run: (n) => adapter.ask(n, 100) }),
  skynet5: () => skynet(5),
  skynet6: () => skynet(6),
  spawnMany: populations,
  fair: timers,
  suspend: suspensions,
}

await adapter.setup?.()
const skipped = adapter.skip?.includes(workload)
const result = skipped ? { skipped: 'not applicable' } : await WORKLOADS[workload]()
if (process.send === undefined) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
} else {
  process.send(result, () => process.exit(0))
}
