/** A tour of the examples, one after another, each with what it shows. `npm run tour` runs it. */
import { systemClock } from '../src/std/index.ts'

type Example = Readonly<{ title: string; show(print: (line: string) => void): Promise<void> }>

/** From the first actor to what happens under load, then what lasts; `tour.test.ts` holds it to the folder. */
export const STOPS: readonly string[] = [
  'counter',
  'ping-pong',
  'traffic-light',
  'rate-limited-worker',
  'supervised-crawler',
  'back-pressure-pipeline',
  'bank-account',
  'shopping-cart',
  'transfer',
  'queue-workers',
]

if (import.meta.main) {
  for (const [n, stop] of STOPS.entries()) {
    const example: Example = await import(`../examples/${stop}.ts`)
    console.log(`\n${n + 1}/${STOPS.length}  ${example.title}  (examples/${stop}.ts)\n`)
    const startMs = systemClock.monotonic()
    await example.show((line) => console.log(`     ${line}`))
    console.log(`     · ${Math.round(systemClock.monotonic() - startMs)} ms`)
  }
  console.log(
    '\nThat was the tour. docs/guides/tutorial.md is next; ARCHITECTURE.md tells how it works.',
  )
}
