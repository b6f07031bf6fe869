/**
 * One life of a server: a system whose turns are taken one by one, a journal on the disk that all lives
 * share, and the orchestrator on both. A server that was killed is not turned any more, and nothing that
 * it had begun reaches the world.
 */
import { memoryJournal, type Batch, type Journal } from '../../../src/journal/index.ts'
import {
  createSteppedSystem,
  type DeadLetter,
  type Ref,
  type SteppedSystem,
} from '../../../src/kernel/index.ts'
import { createProbe } from '../../../src/probe/create-probe.ts'
import { execution } from '../../../src/probe/execution/execution.ts'
import type { House } from '../../../src/probe/house.ts'
import type { Probe } from '../../../src/probe/probe.ts'
import type { GuardianMessage } from '../../../src/probe/protocol.ts'
import type { Schedule } from '../../../src/probe/schedule.ts'
import { isFault, random, silentLog, type Clock } from '../../../src/std/index.ts'
import { faultyJournal, type SimulatedDisk, type VirtualClock } from '../../../src/testkit/index.ts'
import type { Book } from './book.ts'
import type { Estate } from './estate.ts'
import type { Program, Victim } from './program.ts'

export type ServerOptions = Readonly<{
  program: Program
  life: number
  clock: VirtualClock
  disk: SimulatedDisk
  book: Book
  estate: Estate
  newId: () => string
  onDeadLetter: (letter: DeadLetter) => void
}>

export class Server {
  readonly system: SteppedSystem
  readonly #options: ServerOptions
  readonly #clock: Clock
  #house: House | undefined
  #journal: Journal | undefined
  probe: Probe | undefined
  isDead = false
  isClosing = false
  /** The schedule of the queue that was last seen to end. */
  #down: Schedule | undefined
  /** Batches whose fate the orchestrator does not know yet. */
  inFlight = 0

  constructor(options: ServerOptions) {
    const { clock, program, life, onDeadLetter } = options
    this.#options = options
    this.#clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (dueMs, callback) =>
        clock.setTimer(dueMs, () => {
          if (!this.isDead) callback()
        }),
    }
    this.system = createSteppedSystem({
      name: 'model',
      clock: this.#clock,
      random: random(program.seed + life),
      log: silentLog,
      slowTurnMs: Infinity,
    })
    this.system.onDeadLetter(onDeadLetter)
  }

  /** Settles when it answers; turn it meanwhile. */
  async begin(): Promise<void> {
    const { program, life, disk, estate, newId, book } = this.#options
    const { seed, troubles, settings } = program
    const inner = await memoryJournal({ clock: this.#clock, disk: disk.mount() })
    book.catchUp(await inner.readAll({ after: book.position, limit: 1_000 }))
    this.#follow(inner)
    this.#journal = inner
    const journal = faultyJournal(inner, { seed: seed + life, clock: this.#clock, troubles })
    this.#countIn(journal)
    this.probe = await createProbe({
      system: this.system,
      journal,
      ports: estate.ports(this.#clock, () => this.isDead),
      settings,
      newId,
      factories: {
        execution: (options) => {
          this.#house = options.house
          return execution(options)
        },
      },
    })
  }

  get journal(): Journal {
    return this.#journal!
  }

  get schedule(): Schedule | undefined {
    return this.#house?.seen.schedule
  }

  get guardian(): Ref<GuardianMessage> | undefined {
    const found = this.system.find<GuardianMessage>('/guardian')
    return isFault(found) ? undefined : found
  }

  hasActor(testId: string): boolean {
    return !isFault(this.system.find(pathOf('test', testId)))
  }

  /** False where there is nobody to hurt. */
  hurt(how: 'end' | 'throw', whom: Victim, testId: string): boolean {
    const found = this.system.find<unknown>(pathOf(whom, testId))
    if (isFault(found)) return false
    const onHurt = (): void => {
      if (whom === 'queue') this.#down = this.schedule
    }
    if (how === 'throw') found.tell(bomb(onHurt))
    else {
      onHurt()
      found.stop()
    }
    return true
  }

  /** Whether there is a queue that is not about to end. */
  get isUp(): boolean {
    return !this.isDead && !this.isClosing && this.schedule !== this.#down
  }

  #follow(journal: Journal): void {
    const { book } = this.#options
    const commit = journal.commit.bind(journal)
    journal.commit = async (batch: Batch) => {
      const result = await commit(batch)
      if (result.type === 'committed' && !this.isDead) book.take(batch, result.position)
      return result
    }
  }

  #countIn(journal: Journal): void {
    const commit = journal.commit.bind(journal)
    journal.commit = async (batch: Batch) => {
      this.inFlight++
      try {
        return await commit(batch)
      } finally {
        this.inFlight--
      }
    }
  }
}

/** A message that makes whoever looks at it fail. */
function bomb(onLooked: () => void): object {
  return {
    get type(): never {
      onLooked()
      throw new Error('it was made to fail')
    },
  }
}

function pathOf(whom: Victim, testId: string): string {
  const queue = '/guardian/queue-actor'
  if (whom === 'queue') return queue
  const test = `${queue}/test-execution-${testId}`
  return whom === 'test' ? test : `${test}/${whom}-${testId}`
}
