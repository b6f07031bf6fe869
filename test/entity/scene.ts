/** What the tests of the runtime share: accounts, and a journal that does what a test says. */
import { memoryJournal, type Journal } from '../../src/journal/index.ts'
import { silentLog } from '../../src/std/index.ts'
import { world, type World, type WorldOptions } from '../../src/testkit/index.ts'
import {
  accept,
  answer,
  createEntities,
  entity,
  leg,
  postpone,
  type Decision,
  type Entities,
  type EntitiesOptions,
  type EntityDefinition,
} from '../../src/entity/index.ts'

export type Command =
  | Readonly<{ type: 'deposit' | 'withdraw'; amount: number }>
  | Readonly<{ type: 'transfer'; amount: number; to: string }>
  /** Withdraws when there is enough, and waits for it until then. */
  | Readonly<{ type: 'collect'; amount: number; until: number }>
  | Readonly<{ type: 'look' }>
  | Readonly<{ type: 'break' }>

export type Event = Readonly<{ type: 'deposited' | 'withdrawn'; amount: number }>

export type Reply = Readonly<{ ok: boolean; balance: number }>

export function decide(balance: number, command: Command, at: number): Decision<Event, Reply> {
  const took = (amount: number): [Event[], Reply] => [
    [{ type: 'withdrawn', amount }],
    { ok: true, balance: balance - amount },
  ]
  switch (command.type) {
    case 'look':
      return answer({ ok: true, balance })
    case 'break':
      throw new Error('this account breaks')
    case 'deposit': {
      const { amount } = command
      return accept([{ type: 'deposited', amount }], { ok: true, balance: balance + amount })
    }
    case 'withdraw':
      if (command.amount > balance) return answer({ ok: false, balance })
      return accept(...took(command.amount))
    case 'transfer': {
      if (command.amount > balance) return answer({ ok: false, balance })
      const { to, amount } = command
      return accept(...took(amount), [leg(account, to, [{ type: 'deposited', amount }])])
    }
    case 'collect':
      if (command.amount <= balance) return accept(...took(command.amount))
      return at < command.until ? postpone(command.until) : answer({ ok: false, balance })
  }
}

export function evolve(balance: number, event: Event): number {
  return event.type === 'deposited' ? balance + event.amount : balance - event.amount
}

export type Account = EntityDefinition<number, Command, Event, Reply>

export const account: Account = entity({
  type: 'account',
  version: 1,
  initial: () => 0,
  decide,
  evolve,
})

/** What a test may do in place of the journal; `go` is what the journal does. */
export type Script = {
  [Method in 'commit' | 'readStream' | 'snapshots' | 'lookup' | 'readRecords']?: (
    go: () => ReturnType<Journal[Method]>,
    ...args: Parameters<Journal[Method]>
  ) => ReturnType<Journal[Method]>
}

export type Scene = Readonly<{
  earth: World
  entities: Entities
  journal: Journal
  script: Script
  /** One more runtime over the same journal. */
  another: (options?: Partial<EntitiesOptions>) => Entities
  ask: (id: string, command: Command, options?: Parameters<Entities['ask']>[3]) => Promise<Reply>
}>

export async function scene(
  options: Partial<EntitiesOptions> = {},
  worldOptions: WorldOptions = {},
): Promise<Scene & AsyncDisposable> {
  const earth = world(worldOptions)
  const script: Script = {}
  const journal = scripted(await memoryJournal({ clock: earth.clock }), script)
  let runtimes = 0
  const another: Scene['another'] = (more) => {
    const name = runtimes++ === 0 ? 'entities' : `entities-${runtimes}`
    return createEntities({
      system: earth.system,
      journal,
      log: silentLog,
      random: earth.random.fork(),
      name,
      ...options,
      ...more,
    })
  }
  const entities = another()
  return {
    earth,
    entities,
    journal,
    script,
    another,
    ask: async (id, command, asking) =>
      (await earth.until(entities.ask(account, id, command, asking))).reply,
    [Symbol.asyncDispose]: () => earth[Symbol.asyncDispose]().then(() => undefined),
  }
}

function scripted(journal: Journal, script: Script): Journal {
  return new Proxy(journal, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        const go = (): unknown => Reflect.apply(method, target, args)
        const instead: unknown = Reflect.get(script, name)
        return typeof instead === 'function' ? Reflect.apply(instead, script, [go, ...args]) : go()
      }
    },
  })
}

/** A gate that keeps calls back until it is opened. */
export function gate(): Readonly<{
  hold: <T>(go: () => Promise<T>) => Promise<T>
  open: () => void
  waiting: () => number
}> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let waiting = 0
  return {
    hold: async (go) => {
      waiting++
      await promise
      return go()
    },
    open: resolve,
    waiting: () => waiting,
  }
}
