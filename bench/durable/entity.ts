/**
 * The workloads of entities. The limit of a command is a commit: on the same journal, with as many
 * in flight, as many streams and the same event in it, taking turns with ours.
 */
import {
  accept,
  answer,
  createEntities,
  type Entities,
  entity,
  type EntityDefinition,
} from '../../src/entity/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { median } from '../figure.ts'
import type { Effort, Samples } from './effort.ts'
import { drive, type Load, sized, untilQuiet } from './load.ts'
import { committed, openJournal } from './ours.ts'

type Command = Readonly<{ type: 'note'; text: string }> | Readonly<{ type: 'count' }>
type Noted = Readonly<{ type: 'noted'; text: string }>

const NOTEBOOK: EntityDefinition<number, Command, Noted, number> = entity({
  type: 'notebook',
  version: 1,
  initial: () => 0,
  decide: (notes, command) =>
    command.type === 'count'
      ? answer(notes)
      : accept([{ type: 'noted', text: command.text }], notes + 1),
  evolve: (notes) => notes + 1,
})

/** With what the runtime writes around it an event has about 256 bytes. */
const TEXT_CHARS = 232

const ENTITIES = 10_000
const IN_FLIGHT = 4_096
/** Entities that are woken in a round, and the events of each. */
const WOKEN = 200
const EVENTS = 20

/** 10 000 entities in memory; each command accepts one event. */
export async function commands(directory: string, effort: Effort): Promise<Samples> {
  await using journal = await openJournal(directory)
  await using system = createSystem({ name: 'bench' })
  await using entities = createEntities({ system, journal })
  const ours = (count: number): Promise<number> => untilQuiet(() => drive(noting(entities, count)))
  await ours(ENTITIES)
  const [sample] = await journal.readStream('notebook/0', { limit: 1 })
  if (sample === undefined) throw new Error('an entity that accepted an event has none')
  const { type, version, data } = sample
  const versions = new Array<number>(ENTITIES).fill(0)
  const limit = (count: number): Promise<number> =>
    untilQuiet(() =>
      drive({
        count,
        inFlight: IN_FLIGHT,
        issue: (index) => {
          const at = index % ENTITIES
          const before = versions[at]!++
          const expected = before === 0 ? 'none' : before
          const events = [{ type, version, at: Date.now(), data }]
          return journal.commit({ streams: [{ stream: `limit/${at}`, expected, events }] })
        },
        good: committed,
      }),
    )
  const count = await sized(effort.roundMs, ours)
  await limit(count)
  const all: Samples = { ours: [], limit: [], bytes: [Buffer.byteLength(data)] }
  for (let round = 0; round < effort.rounds; round++) {
    all['ours']?.push((count * 1_000) / (await ours(count)))
    all['limit']?.push((count * 1_000) / (await limit(count)))
  }
  return all
}

/** An entity that rests, with 20 events in the file and none in memory, is asked a question. */
export async function activation(directory: string, { rounds }: Effort): Promise<Samples> {
  const names = Array.from({ length: (rounds + 1) * WOKEN }, (_, index) => `woken-${index}`)
  await write(directory, names)
  await using journal = await openJournal(directory)
  await using system = createSystem({ name: 'bench' })
  await using entities = createEntities({ system, journal })
  const all: Samples = { p50: [], max: [] }
  for (let round = 0; round <= rounds; round++) {
    const tookMs = await wake(entities, names.slice(round * WOKEN, (round + 1) * WOKEN))
    if (round === 0) continue // Warms up.
    all['p50']?.push(median(tookMs)!)
    all['max']?.push(Math.max(...tookMs))
  }
  return all
}

async function wake(entities: Entities, names: readonly string[]): Promise<number[]> {
  const tookMs: number[] = []
  for (const name of names) {
    const start = performance.now()
    const { reply } = await entities.ask(NOTEBOOK, name, { type: 'count' })
    tookMs.push(performance.now() - start)
    if (reply !== EVENTS) throw new Error(`${name} came back with ${reply} of ${EVENTS} events`)
  }
  return tookMs
}

/** Their events, and then those of others, so that theirs are where old events are. */
async function write(directory: string, names: readonly string[]): Promise<void> {
  await using journal = await openJournal(directory)
  await using system = createSystem({ name: 'bench' })
  await using entities = createEntities({ system, journal })
  await drive({
    ...noting(entities, names.length * EVENTS),
    issue: (index) =>
      entities.ask(NOTEBOOK, names[index % names.length]!, { type: 'note', text: text(index) }),
  })
  await drive(noting(entities, ENTITIES * 2))
}

function noting(entities: Entities, count: number): Load<Readonly<{ replayed: boolean }>> {
  return {
    count,
    inFlight: IN_FLIGHT,
    issue: (index) =>
      entities.ask(NOTEBOOK, String(index % ENTITIES), { type: 'note', text: text(index) }),
    good: ({ replayed }) => !replayed,
  }
}

const TEXTS: readonly string[] = Array.from({ length: 1_024 }, (_, index) =>
  `note ${index} `.padEnd(TEXT_CHARS, 'x'),
)

function text(index: number): string {
  return TEXTS[index % TEXTS.length]!
}
