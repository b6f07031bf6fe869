/**
 * Payments between purses, each as one thing.
 *
 * The purse that pays decides, and its decision has a leg in the history of the purse that is paid.
 * Both go into the journal as one batch: there is no moment, and no crash, between them. The other is
 * not asked, so only what it cannot refuse may be done this way. A request id makes a payment that is
 * asked for twice one payment.
 */
import {
  accept,
  answer,
  createEntities,
  entity,
  leg,
  type EntityDefinition,
} from '../src/entity/index.ts'
import { memoryJournal } from '../src/journal/index.ts'
import { assert, unreachable } from '../src/std/index.ts'
import { world } from '../src/testkit/index.ts'

export const title = 'A transfer: two histories, one batch, nothing lost on the way'

export type PurseCommand =
  | Readonly<{ type: 'fill'; coins: number }>
  | Readonly<{ type: 'pay'; coins: number; to: string }>

export type PurseEvent =
  | Readonly<{ type: 'filled'; coins: number }>
  | Readonly<{ type: 'paid'; coins: number; to: string }>
  | Readonly<{ type: 'received'; coins: number; from: string }>

/** Who it is stands in its state, because `decide` is told nothing else. */
export type Purse = Readonly<{ id: string; coins: number }>

export type PurseReply = Readonly<{ ok: boolean; coins: number }>

export const purse: EntityDefinition<Purse, PurseCommand, PurseEvent, PurseReply> = entity({
  type: 'purse',
  version: 1,
  initial: (id) => ({ id, coins: 0 }),
  decide({ id, coins: have }, command) {
    const { coins } = command
    switch (command.type) {
      case 'fill':
        return accept([{ type: 'filled', coins }], { ok: true, coins: have + coins })
      case 'pay': {
        if (coins > have) return answer({ ok: false, coins: have })
        const { to } = command
        return accept([{ type: 'paid', coins, to }], { ok: true, coins: have - coins }, [
          leg(purse, to, [{ type: 'received', coins, from: id }]),
        ])
      }
      default:
        return unreachable(command)
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'filled':
      case 'received':
        return { ...state, coins: state.coins + event.coins }
      case 'paid':
        return { ...state, coins: state.coins - event.coins }
      default:
        return unreachable(event)
    }
  },
})

const PURSES = ['ada', 'barbara', 'grace', 'margaret']
const COINS = 100
const PAYMENTS = 200

/** In a world, so that a seed decides who pays whom, and in which order. */
export async function show(print: (line: string) => void): Promise<void> {
  await using town = world({ seed: 7 })
  const journal = await memoryJournal({ clock: town.clock })
  const entities = createEntities({ system: town.system, journal })
  for (const id of PURSES) await town.until(entities.ask(purse, id, { type: 'fill', coins: COINS }))
  print(`${PURSES.length} purses with ${COINS} coins each`)

  const asked = Array.from({ length: PAYMENTS }, (_, n) => {
    const [from, to] = [town.random.pick(PURSES), town.random.pick(PURSES)]
    const command = { type: 'pay', coins: 1 + town.random.below(60), to } as const
    return () => entities.ask(purse, from, command, { requestId: `payment-${n}` })
  })
  // All at once, and each of them twice.
  const answers = await town.until(Promise.all([...asked, ...asked].map((pay) => pay())))
  const granted = answers.slice(0, PAYMENTS).filter(({ reply }) => reply.ok).length
  print(`${PAYMENTS} payments, each asked for twice: ${granted} granted`)
  for (const [n, { reply, version }] of answers.slice(PAYMENTS).entries())
    assert(
      reply.ok === answers[n]?.reply.ok && version === answers[n].version,
      'who asks again is told the same',
    )

  const events = await journal.readAll({ limit: 10_000 })
  const paid = events.filter(({ type }) => type === 'paid')
  const received = new Set(
    events.filter(({ type }) => type === 'received').map(({ batch }) => batch),
  )
  print(`${paid.length} in the journal, each in one batch with what it led to`)
  assert(paid.length === granted, 'each has had one effect')
  assert(
    paid.every(({ batch }) => received.has(batch)),
    'there is nothing between paid and received',
  )

  const purses = await Promise.all(PURSES.map((id) => entities.read(purse, id)))
  const coins = purses.map(({ state }) => state.coins)
  const sum = coins.reduce((before, each) => before + each)
  print(`${coins.join(' + ')} = ${sum} coins`)
  assert(sum === PURSES.length * COINS, 'no coin is made or lost')
  assert(
    coins.every((each) => each >= 0),
    'nobody pays what is not there',
  )
  await town.until(entities.drain())
}
