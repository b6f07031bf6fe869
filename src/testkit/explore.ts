/**
 * One scenario in many worlds.
 *
 * Every seed is another order, other durations and, where the scenario bears them, other faults. The
 * first seed that fails ends it, with an error that names the seed, the options that were drawn from it
 * and the call that replays it. The first seeds are played twice: a scenario that does not do the
 * same again waits for something outside its world, and no seed of it could be replayed.
 */
import type { TraceEntry } from '../kernel/index.ts'
import { Accident, fault } from '../std/index.ts'
import { hop, settling } from './settling.ts'
import { isError, show } from './show.ts'
import { swarm, type SwarmFault } from './swarm.ts'
import { TraceHash } from './trace-hash.ts'
import { SeededWorld, type World, type WorldOptions } from './world.ts'

export type Scenario = (world: World) => Promise<void> | void

export type ExploreOptions = Readonly<{
  /** What the scenario bears; each seed draws some of them. */
  faults?: readonly SwarmFault[]
  /** Options of every world, whatever its seed draws. */
  world?: Omit<WorldOptions, 'seed'>
  /** How many of the seeds are played twice: 100 unless said otherwise. */
  twice?: number
  /** Whether an actor may fail without failing the scenario. */
  failures?: 'refuse' | 'allow'
}>

export type Explored = Readonly<{ seeds: number; twice: number; steps: number }>

const TWICE_DEFAULT = 100
/** How often a scenario may wait for something that is not the world, before it is said to hang. */
const UNATTENDED_MAX = 16
const TRACE_SHOWN = 12

/** Plays the scenario with each of the seeds, or with as many as the number says, from 0. */
export async function explore(
  seeds: number | readonly number[],
  scenario: Scenario,
  options: ExploreOptions = {},
): Promise<Explored> {
  const list = typeof seeds === 'number' ? firstSeeds(seeds) : seeds
  if (list.length === 0) throw nothingExplored(seeds)
  const twice = Math.min(list.length, options.twice ?? TWICE_DEFAULT)
  let steps = 0
  for (const [n, seed] of list.entries()) {
    const first = await play(seed, scenario, options)
    steps += first.steps
    if (n < twice) compare(first, await play(seed, scenario, options))
  }
  return { seeds: list.length, twice, steps }
}

async function play(
  seed: number,
  scenario: Scenario,
  options: ExploreOptions,
): Promise<SeededWorld> {
  const drawn = swarm(seed, options.faults ?? [])
  const world = new SeededWorld({ seed, ...drawn, ...options.world })
  try {
    const played = scenario(world)
    if (played !== undefined) await attend(world, Promise.resolve(played))
    await world.stop()
    const [failure] = world.failures
    if (failure !== undefined && options.failures !== 'allow') throw failure.error
    return world
  } catch (error) {
    throw scenarioFailed(world, error)
  }
}

/** Waits for the scenario, but not for one that waits while nobody turns its world. */
async function attend(world: SeededWorld, played: Promise<void>): Promise<void> {
  const isOver = settling(played)
  for (let unattended = 0; !isOver();) {
    const { turning } = world
    if (turning !== undefined) unattended = 0
    else if (++unattended > UNATTENDED_MAX) throw hangs()
    await (turning ?? hop())
  }
  await played
}

function compare(first: SeededWorld, second: SeededWorld): void {
  if (first.traceHash === second.traceHash) return
  const length = Math.max(first.trace.length, second.trace.length)
  let n = 0
  while (n < length && digest(first.trace[n]) === digest(second.trace[n])) n++
  const [one, other] = [line(first.trace[n]), line(second.trace[n])]
  throw new Accident(
    fault(
      'not-deterministic',
      `seed ${first.seed} was played twice and did not do the same: entry ${n} of the trace is ` +
        `${one} at first and ${other} then`,
      {
        seed: first.seed,
        options: first.options,
        remedy: 'take time, chance and ids from the world, and wait for no I/O',
      },
    ),
  )
}

function digest(entry: TraceEntry | undefined): string {
  const hash = new TraceHash()
  if (entry !== undefined) hash.add(entry)
  return hash.digest
}

function line(entry: TraceEntry | undefined): string {
  if (entry === undefined) return 'nothing'
  return `${entry.at} ms ${entry.actor} ${entry.type} ${show(entry.facts)}`
}

function scenarioFailed(world: SeededWorld, error: unknown): Accident {
  const { seed, ...drawn } = world.options
  const reason = (isError(error) ? error.message : show(error)).trim()
  const last = world.trace.slice(-TRACE_SHOWN).map((entry) => `  ${line(entry)}`)
  return new Accident(
    fault('scenario-failed', `seed ${seed} fails with ${show(drawn)}: ${reason}`, {
      seed,
      options: drawn,
      remedy:
        `replay it with explore([${seed}], scenario), or world(${show(world.options)})\n` +
        `the end of its trace:\n${last.join('\n')}`,
    }),
    { cause: error },
  )
}

function hangs(): Accident {
  return new Accident(
    fault('world-unattended', 'the scenario waits while nobody turns its world', {
      remedy: 'await world.until(promise); a scenario waits for no I/O and no real timer',
    }),
  )
}

function firstSeeds(count: number): number[] {
  if (!Number.isSafeInteger(count) || count < 0) throw nothingExplored(count)
  return Array.from({ length: count }, (_, seed) => seed)
}

function nothingExplored(seeds: number | readonly number[]): Accident {
  return new Accident(
    fault('bad-option', 'there is no seed to explore', {
      option: 'seeds',
      given: seeds,
      remedy: 'give a whole number from 1, or a list of seeds',
    }),
  )
}
