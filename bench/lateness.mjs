/**
 * How late a 1 ms timer fires while something else runs: the p99 in milliseconds. A chain of
 * immediates keeps the loop turning, idle or not, so that idle and saturated are compared alike. A
 * stall of 500 ms counts as the 500 ticks it swallowed, not as one (coordinated omission).
 */
const TICK_MS = 1

export async function lateness(run) {
  const late = []
  let running = true
  const tick = (ended) => {
    const start = performance.now()
    setTimeout(() => {
      late.push(Math.max(0, performance.now() - start - TICK_MS))
      if (running) tick(ended)
      else ended()
    }, TICK_MS)
  }
  const turn = (ended) => {
    setImmediate(() => {
      if (running) turn(ended)
      else ended()
    })
  }
  const ends = Promise.all([new Promise(tick), new Promise(turn)])
  await run()
  running = false
  await ends

  const all = []
  for (const ms of late) for (let left = ms; left > 0; left -= TICK_MS) all.push(left)
  return percentile(all, 0.99)
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).toSorted()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
