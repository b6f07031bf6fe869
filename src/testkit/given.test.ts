import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  accept,
  answer,
  entity,
  leg,
  message,
  postpone,
  type EntityDefinition,
} from '../entity/index.ts'
import { given } from './given.ts'
import { ExpectationFailure } from './inbox.ts'

type Event =
  | Readonly<{ type: 'opened'; by: string; at: number }>
  | Readonly<{ type: 'paid'; amount: number; to?: string }>
type Command =
  | Readonly<{ type: 'open' }>
  | Readonly<{ type: 'look' }>
  | Readonly<{ type: 'pay'; amount: number; to: string }>
type Account = Readonly<{ owner: string; balance: number; openedAt: number | null }>
type Reply = Readonly<{ ok: boolean; balance: number }>
type AccountDefinition = EntityDefinition<Account, Command, Event, Reply>

const LATER = 2_000_000_000_000

const account: AccountDefinition = entity({
  type: 'account',
  version: 1,
  initial: (id): Account => ({ owner: id, balance: 0, openedAt: null }),
  decide(state: Account, command: Command, at: number) {
    const { balance, openedAt } = state
    switch (command.type) {
      case 'open':
        return accept<Event, Reply>([{ type: 'opened', by: state.owner, at }], {
          ok: true,
          balance,
        })
      case 'look':
        return answer<Reply>({ ok: openedAt !== null, balance })
      case 'pay': {
        const { amount, to } = command
        if (openedAt === null) return postpone(LATER)
        if (balance < amount) return answer<Reply>({ ok: false, balance })
        const paid: Event = { type: 'paid', amount: -amount, to }
        return accept<Event, Reply>([paid], { ok: true, balance: balance - amount }, [
          leg(account, to, [{ type: 'paid', amount }]),
        ])
      }
    }
  },
  evolve(state: Account, event: Event): Account {
    switch (event.type) {
      case 'opened':
        return { ...state, openedAt: event.at }
      case 'paid':
        return { ...state, balance: state.balance + event.amount }
    }
  },
  alarm: ({ openedAt }) =>
    openedAt === null ? undefined : { at: openedAt + 1, command: { type: 'look' } },
  react: (event, id) =>
    event.type === 'opened' ? [message(account, 'bank', { type: 'pay', amount: 1, to: id })] : [],
})

const opened: Event = { type: 'opened', by: 'a', at: 5 }
const paid: Event = { type: 'paid', amount: 100 }

function refusing(code: string, text: RegExp): (error: Error & { code?: string }) => boolean {
  return (error) => {
    assert.equal(error.code, code)
    assert.match(error.message, text)
    return true
  }
}

describe('given', () => {
  test('a history and a command, shows what was decided and what comes of it', () => {
    given(account)
      .when({ type: 'open' }, 7)
      .expect([{ type: 'opened', by: 'a', at: 7 }], { ok: true, balance: 0 })
    given(account, [opened, paid])
      .when({ type: 'pay', amount: 30, to: 'b' })
      .expect([{ type: 'paid', amount: -30, to: 'b' }], { ok: true, balance: 70 }, [
        leg(account, 'b', [{ type: 'paid', amount: 30 }]),
      ])
      .expectState({ owner: 'a', balance: 70, openedAt: 5 })
      .expectAlarm({ at: 6, command: { type: 'look' } })
      .expectMessages([])
      .when({ type: 'look' })
      .expect([], { ok: true, balance: 70 })
    given(account, [], { id: 'x', at: 9 })
      .when({ type: 'open' })
      .expect([{ type: 'opened', by: 'x', at: 9 }], { ok: true, balance: 0 })
      .expectMessages([message(account, 'bank', { type: 'pay', amount: 1, to: 'x' })])
    given(account)
      .when({ type: 'pay', amount: 1, to: 'b' })
      .expectPostponed(LATER)
      .expectAlarm(undefined)
      .expectState({ owner: 'a', balance: 0, openedAt: null })
    assert.deepEqual(given(account, [opened, paid]).state.balance, 100)
  })

  test('says what is otherwise, at the line of the expectation', () => {
    const decided = given(account, [opened, paid]).when({ type: 'pay', amount: 30, to: 'b' })
    const event: Event = { type: 'paid', amount: -30, to: 'b' }
    const reply = { ok: true, balance: 70 }
    for (const [expectation, text] of [
      [() => decided.expect([event], reply), /\.also\[0\] is .*, not nothing/s],
      [() => decided.expect([], reply), /the account decided something else:\n {2}\.events\[0\]/],
      [() => decided.expectPostponed(5), /\.type is 'accept', not 'postpone'/],
      [
        () => decided.expectState({ owner: 'a', balance: 71, openedAt: 5 }),
        /come to .*\n.*70, not 71/,
      ],
      [() => decided.expectAlarm(undefined), /wants to be woken with/],
      [() => decided.expectMessages([message(account, 'b', { type: 'look' })]), /told others/],
      [() => given(account).when({ type: 'pay', amount: 1, to: 'b' }).expect([], reply), /\.type/],
    ] as const)
      assert.throws(expectation, (error) => {
        assert.ok(error instanceof ExpectationFailure)
        assert.equal(error.code, 'unexpected-decision')
        assert.match(error.message, text)
        assert.match(
          error.stack!.split('\n').find((line) => line.includes(' at '))!,
          /given\.test/,
        )
        assert.notEqual(error.actual, error.expected)
        return true
      })
  })

  test('folds in order of effect where the definition has one', () => {
    const late: AccountDefinition = {
      ...account,
      effectiveAt: (event) => (event.type === 'opened' ? event.at : 10),
      evolve: (state, { type }) => ({ ...state, owner: `${state.owner} ${type}` }),
    }
    assert.equal(given(late, [paid, opened, paid]).state.owner, 'a opened paid paid')
    const decided = given(late, [paid]).when({ type: 'open' }, 5)
    assert.equal(decided.state.owner, 'a opened paid')
  })

  test('does not let a definition change what it is given', () => {
    const careless: readonly AccountDefinition[] = [
      { ...account, evolve: (state) => Object.assign(state, { balance: 1 }) },
      {
        ...account,
        decide: (state) =>
          answer({ ok: true, balance: ((state as { balance: number }).balance += 1) }),
      },
      {
        ...account,
        decide(_, command) {
          Object.assign(command, { type: 'x' })
          return answer({ ok: true, balance: 0 })
        },
      },
    ]
    for (const definition of careless)
      assert.throws(
        () => given(definition, [opened]).when({ type: 'open' }),
        refusing('not-pure', /(?:evolve|decide) of account changes what it was given/),
      )
  })

  test('does not let a definition answer from anything but its arguments', () => {
    let n = 0
    const moody: readonly AccountDefinition[] = [
      { ...account, initial: () => ({ owner: 'a', balance: n++, openedAt: null }) },
      { ...account, evolve: (state) => ({ ...state, balance: n++ }) },
      { ...account, decide: () => answer({ ok: true, balance: n++ }) },
    ]
    for (const definition of moody)
      assert.throws(
        () => given(definition, [opened]).when({ type: 'open' }),
        refusing('not-pure', /otherwise the second time:\n.*balance is/),
      )
    const alarming: AccountDefinition = {
      ...account,
      alarm: () => ({ at: n++, command: { type: 'look' } }),
    }
    const decided = given(alarming).when({ type: 'look' })
    assert.throws(() => decided.expectAlarm(undefined), refusing('not-pure', /alarm of account/))
  })

  test('holds what becomes durable to what JSON keeps', () => {
    const date = new URL('a:b') as never
    const lossy: readonly (readonly [() => unknown, RegExp])[] = [
      [
        () => given(account, [{ ...opened, by: date }]),
        /the event of account is not JSON at event\.by/,
      ],
      [
        () => given({ ...account, initial: () => ({ owner: date, balance: 0, openedAt: null }) }),
        /state\.owner/,
      ],
      [
        () => given({ ...account, evolve: (s) => ({ ...s, balance: Number.NaN }) }, [paid]),
        /state\.balance/,
      ],
      [
        () =>
          given({ ...account, decide: () => answer({ ok: true, balance: 1n as never }) }).when({
            type: 'look',
          }),
        /the reply of account is not JSON at reply\.balance/,
      ],
      [() => given(account).when({ type: 'pay', amount: Infinity, to: 'b' }), /command\.amount/],
    ]
    for (const [work, text] of lossy) assert.throws(work, refusing('lost-in-json', text))
  })
})
