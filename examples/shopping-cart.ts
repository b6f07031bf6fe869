/**
 * A shopping cart that is cleared when its owner has gone away.
 *
 * How long it may stay is part of its state, as an alarm: a time, and the command that comes then. The
 * alarm is durable like everything else. By the time it is due the cart has long been put away, and is
 * woken for it; a customer who comes back in time sets it anew.
 */
import {
  accept,
  answer,
  createEntities,
  entity,
  type Entities,
  type EntityDefinition,
} from '../src/entity/index.ts'
import { memoryJournal } from '../src/journal/index.ts'
import { assert, unreachable } from '../src/std/index.ts'
import { world } from '../src/testkit/index.ts'

export const title = 'A shopping cart: an alarm that outlives whoever set it'

const MINUTE_MS = 60_000

/** A cart that nobody has touched for so long is abandoned. */
export const ABANDONED_MS: number = 30 * MINUTE_MS

export type CartCommand =
  | Readonly<{ type: 'add'; item: string; count: number }>
  | Readonly<{ type: 'check-out' }>
  | Readonly<{ type: 'expire' }>
  | Readonly<{ type: 'look' }>

export type CartEvent =
  | Readonly<{ type: 'item-added'; item: string; count: number; at: number }>
  | Readonly<{ type: 'checked-out' }>
  | Readonly<{ type: 'abandoned' }>

export type Cart = Readonly<{ items: Readonly<Record<string, number>>; touchedAt: number }>

export type CartReply = Readonly<{ ok: boolean; items: Cart['items'] }>

const EMPTY: Cart = { items: {}, touchedAt: 0 }

export const cart: EntityDefinition<Cart, CartCommand, CartEvent, CartReply> = entity({
  type: 'cart',
  version: 1,
  initial: () => EMPTY,
  // The time is an argument: replayed or decided again, a command comes to the same.
  decide(state, command, at) {
    const { items } = state
    switch (command.type) {
      case 'add': {
        const added = { type: 'item-added', item: command.item, count: command.count, at } as const
        return accept([added], { ok: true, items: withItem(items, added) })
      }
      case 'check-out':
        if (isEmpty(state)) return answer({ ok: false, items })
        return accept([{ type: 'checked-out' }], { ok: true, items })
      case 'expire':
        if (isEmpty(state) || at < dueAt(state)) return answer({ ok: false, items })
        return accept([{ type: 'abandoned' }], { ok: true, items })
      case 'look':
        return answer({ ok: true, items })
      default:
        return unreachable(command)
    }
  },
  evolve({ items }, event) {
    switch (event.type) {
      case 'item-added':
        return { items: withItem(items, event), touchedAt: event.at }
      case 'checked-out':
      case 'abandoned':
        return EMPTY
      default:
        return unreachable(event)
    }
  },
  alarm: (state) =>
    isEmpty(state) ? undefined : { at: dueAt(state), command: { type: 'expire' } },
})

function withItem(
  items: Cart['items'],
  { item, count }: Readonly<{ item: string; count: number }>,
): Cart['items'] {
  return { ...items, [item]: (items[item] ?? 0) + count }
}

function isEmpty({ items }: Cart): boolean {
  return Object.keys(items).length === 0
}

function dueAt({ touchedAt }: Cart): number {
  return touchedAt + ABANDONED_MS
}

/** On virtual time: an hour in the shop takes a few milliseconds. */
export async function show(print: (line: string) => void): Promise<void> {
  await using shop = world()
  const journal = await memoryJournal({ clock: shop.clock })
  const entities = createEntities({ system: shop.system, journal, definitions: [cart] })
  const add = (id: string, item: string): Promise<unknown> =>
    shop.until(entities.ask(cart, id, { type: 'add', item, count: 1 }))

  await add('ada', 'lamp')
  await add('grace', 'chair')
  print('at  0 min  Ada takes a lamp, Grace a chair')
  await shop.advance(20 * MINUTE_MS)
  print(`at 20 min  ${entities.metrics().active} carts are in memory`)
  assert(entities.metrics().active === 0, 'both have been put away')
  await add('ada', 'table')
  print('           Ada takes a table')

  await shop.advance(15 * MINUTE_MS)
  print(
    `at 35 min  Ada has ${await contents(entities, 'ada')}, Grace ${await contents(entities, 'grace')}`,
  )
  await shop.until(entities.ask(cart, 'ada', { type: 'check-out' }))
  print('           Ada checks out')

  const { alarms } = entities.metrics()
  print(
    `${alarms} alarm; in the journal: ${(await journal.readAll()).map(({ type }) => type).join(', ')}`,
  )
  assert(alarms === 1, 'only what was left alone is abandoned')
  await shop.until(entities.drain())
}

async function contents(entities: Entities, id: string): Promise<string> {
  const { state } = await entities.read(cart, id)
  return Object.keys(state.items).join(' and ') || 'nothing'
}
