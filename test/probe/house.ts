/** What an actor of the orchestrator is given, for one that is alone on a stage. */
import { memoryJournal, type Journal } from '../../src/journal/index.ts'
import { receive, type Behavior, type Ref } from '../../src/kernel/index.ts'
import { blockStorage } from '../../src/probe/children/block-storage.ts'
import { consumer } from '../../src/probe/children/consumer.ts'
import { cucumber } from '../../src/probe/children/cucumber.ts'
import { producer } from '../../src/probe/children/producer.ts'
import { vault } from '../../src/probe/children/vault.ts'
import { execution } from '../../src/probe/execution/execution.ts'
import type { Factories, House } from '../../src/probe/house.ts'
import { settingsOf, type ProbeSettings } from '../../src/probe/options.ts'
import type { ChildKind, ChildNotice } from '../../src/probe/protocol.ts'
import { Register } from '../../src/probe/register.ts'
import { newTally } from '../../src/probe/tally.ts'
import { silentLog, type Log } from '../../src/std/index.ts'
import { virtualClock, type VirtualClock } from '../../src/testkit/index.ts'
import { Fakes } from './fakes.ts'

export type TestHouse = Readonly<{
  house: House
  clock: VirtualClock
  fakes: Fakes
  journal: Journal
}>

export type TestHouseOptions = Readonly<{
  settings?: Partial<ProbeSettings>
  factories?: Partial<Factories>
  log?: Log
  journal?: (journal: Journal) => Journal
}>

export async function testHouse(options: TestHouseOptions = {}): Promise<TestHouse> {
  const clock = virtualClock()
  const fakes = new Fakes()
  const memory = await memoryJournal({ clock })
  const journal = options.journal?.(memory) ?? memory
  const token = await journal.takeFence('probe')
  let ids = 0
  const house: House = {
    register: new Register(journal, { name: 'probe', token }, clock),
    ports: fakes.ports,
    factories: {
      execution,
      blockStorage,
      vault,
      cucumber,
      producer,
      consumer,
      ...options.factories,
    },
    settings: settingsOf(options.settings),
    log: options.log ?? silentLog,
    newId: () => `t${++ids}`,
    tally: newTally(),
    seen: { schedule: undefined, lives: 0 },
    onProgress: () => undefined,
  }
  return { house, clock, fakes, journal }
}

/** Children that do nothing but remember what they were told; a test speaks in their stead. */
export class Silent {
  readonly told: { readonly kind: ChildKind; readonly type: string; readonly message: unknown }[] =
    []
  readonly parents: Map<ChildKind, Ref<ChildNotice>> = new Map()
  readonly factories: Partial<Factories> = {
    blockStorage: this.#factory('block-storage'),
    vault: this.#factory('vault'),
    cucumber: this.#factory('cucumber'),
    producer: this.#factory('producer'),
    consumer: this.#factory('consumer'),
  }

  /** What they were told since this was last asked, as `kind type`. */
  take(): readonly string[] {
    return this.told.splice(0).map(({ kind, type }) => `${kind} ${type}`)
  }

  #factory<M extends Readonly<{ type: string }>>(
    kind: ChildKind,
  ): (options: Readonly<{ parent: Ref<ChildNotice> }>) => Behavior<M> {
    return ({ parent }) => {
      this.parents.set(kind, parent)
      return receive<M>((_ctx, message) => {
        this.told.push({ kind, type: message.type, message })
        return message.type === 'stop' ? 'stopped' : undefined
      })
    }
  }
}
