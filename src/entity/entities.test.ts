import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal } from '../journal/index.ts'
import { world } from '../testkit/index.ts'
import {
  accept,
  answer,
  createEntities,
  entity,
  type Decision,
  type EntityDefinition,
} from './index.ts'

type Command =
  | Readonly<{ type: 'deposit'; amount: number }>
  | Readonly<{ type: 'withdraw'; amount: number }>
  | Readonly<{ type: 'look' }>
type Event = Readonly<{ type: 'deposited' | 'withdrawn'; amount: number }>
type Reply = Readonly<{ ok: boolean; balance: number }>

const account: EntityDefinition<number, Command, Event, Reply> = entity({
  type: 'account',
  version: 1,
  initial: () => 0,
  decide: (balance, command): Decision<Event, Reply> => {
    switch (command.type) {
      case 'look':
        return answer({ ok: true, balance })
      case 'deposit':
        return accept([{ type: 'deposited', amount: command.amount }], {
          ok: true,
          balance: balance + command.amount,
        })
      case 'withdraw':
        if (command.amount > balance) return answer({ ok: false, balance })
        return accept([{ type: 'withdrawn', amount: command.amount }], {
          ok: true,
          balance: balance - command.amount,
        })
    }
  },
  evolve: (balance, event) =>
    event.type === 'deposited' ? balance + event.amount : balance - event.amount,
})

describe('entities', () => {
  test('decide, commit and reply', async () => {
    await using earth = world()
    const journal = await memoryJournal({ clock: earth.clock })
    const entities = createEntities({ system: earth.system, journal })
    const first = await earth.until(entities.ask(account, 'a', { type: 'deposit', amount: 5 }))
    assert.deepEqual(first, {
      reply: { ok: true, balance: 5 },
      version: 1,
      position: 1,
      replayed: false,
    })
    const many = await earth.until(
      Promise.all(
        [1, 2, 3].map((amount) => entities.ask(account, 'a', { type: 'withdraw', amount })),
      ),
    )
    assert.deepEqual(
      many.map(({ reply }) => reply),
      [
        { ok: true, balance: 4 },
        { ok: true, balance: 2 },
        { ok: false, balance: 2 },
      ],
    )
    await earth.until(entities.passivate({ type: 'account', id: 'a' }))
    assert.equal(entities.metrics().active, 0)
    const look = await earth.until(entities.ask(account, 'a', { type: 'look' }))
    assert.equal(look.reply.balance, 2)
    assert.deepEqual(await earth.until(entities.drain()), { rejected: 0, overdue: [] })
  })
})
