/**
 * A bank account: an entity that remembers.
 *
 * Its balance is stored nowhere. What is stored is what happened, and the balance is what that comes to:
 * `decide` says what happens, `evolve` what it means. Both are pure functions. What was decided is on disk
 * before anybody is answered, so what was answered is still so after the end of the process.
 */
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  accept,
  answer,
  createEntities,
  entity,
  type Entities,
  type EntityDefinition,
} from '../src/entity/index.ts'
import { sqliteJournal } from '../src/journal/index.ts'
import { createSystem } from '../src/kernel/index.ts'
import { assert, unreachable } from '../src/std/index.ts'

export const title = 'A bank account: what was answered survives a restart'

/** Amounts are whole cents. */
export type AccountCommand =
  | Readonly<{ type: 'deposit'; amount: number }>
  | Readonly<{ type: 'withdraw'; amount: number }>
  | Readonly<{ type: 'look' }>

export type AccountEvent =
  | Readonly<{ type: 'deposited'; amount: number }>
  | Readonly<{ type: 'withdrawn'; amount: number }>

export type Account = Readonly<{ balance: number }>

/** A refusal is a reply like any other. */
export type AccountReply = Readonly<{ ok: boolean; balance: number }>

export const account: EntityDefinition<Account, AccountCommand, AccountEvent, AccountReply> =
  entity({
    type: 'account',
    version: 1,
    initial: () => ({ balance: 0 }),
    decide({ balance }, command) {
      switch (command.type) {
        case 'deposit': {
          const { amount } = command
          return accept([{ type: 'deposited', amount }], { ok: true, balance: balance + amount })
        }
        case 'withdraw': {
          const { amount } = command
          if (amount > balance) return answer({ ok: false, balance })
          return accept([{ type: 'withdrawn', amount }], { ok: true, balance: balance - amount })
        }
        case 'look':
          return answer({ ok: true, balance })
        default:
          return unreachable(command)
      }
    },
    evolve({ balance }, event) {
      switch (event.type) {
        case 'deposited':
          return { balance: balance + event.amount }
        case 'withdrawn':
          return { balance: balance - event.amount }
        default:
          return unreachable(event)
      }
    },
  })

export async function show(print: (line: string) => void): Promise<void> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bank-'))

  await life(folder.path, async (entities) => {
    const deposit = { type: 'deposit', amount: 5_000 } as const
    const { reply, version } = await entities.ask(account, 'ada', deposit)
    print(`deposited 50.00: balance ${euros(reply.balance)}, version ${version}`)

    const withdrawal = { type: 'withdraw', amount: 2_000 } as const
    const first = await entities.ask(account, 'ada', withdrawal, { requestId: 'cash-17' })
    const again = await entities.ask(account, 'ada', withdrawal, { requestId: 'cash-17' })
    print(`withdrew 20.00, asked twice with one request id: balance ${euros(again.reply.balance)}`)
    assert(!first.replayed && again.replayed, 'the second answer is the first one again')

    const refused = await entities.ask(account, 'ada', { type: 'withdraw', amount: 9_900 })
    print(`withdraw 99.00: ${refused.reply.ok ? 'granted' : 'refused'}, version ${refused.version}`)
    assert(!refused.reply.ok && refused.version === 2, 'a refusal is no event')
  })
  print('closed everything, opened it again')

  await life(folder.path, async (entities) => {
    const { reply, version } = await entities.ask(account, 'ada', { type: 'look' })
    print(`balance ${euros(reply.balance)}, version ${version}`)
    const before = await entities.read(account, 'ada', { version: 1 })
    print(`at version 1 it was ${euros(before.state.balance)}`)
    assert(reply.balance === 3_000 && before.state.balance === 5_000, 'nothing is forgotten')
  })
}

/** From start to orderly end: what was made last ends first. */
async function life(directory: string, work: (entities: Entities) => Promise<void>): Promise<void> {
  await using journal = await sqliteJournal({ directory })
  await using system = createSystem()
  await using entities = createEntities({ system, journal })
  await work(entities)
}

function euros(cents: number): string {
  return (cents / 100).toFixed(2)
}
