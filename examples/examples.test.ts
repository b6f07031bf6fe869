/** Every example goes through and shows what it says. The examples judge themselves as well. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createEntities, leg, type Entities } from '../src/entity/index.ts'
import { memoryJournal } from '../src/journal/index.ts'
import { explore, given, inbox, stage, world, type World } from '../src/testkit/index.ts'
import * as pipeline from './back-pressure-pipeline.ts'
import * as bank from './bank-account.ts'
import * as counter from './counter.ts'
import * as pingPong from './ping-pong.ts'
import * as queueWorkers from './queue-workers.ts'
import * as rateLimited from './rate-limited-worker.ts'
import * as shop from './shopping-cart.ts'
import * as crawler from './supervised-crawler.ts'
import * as trafficLight from './traffic-light.ts'
import * as transfer from './transfer.ts'

type Example = Readonly<{ title: string; show(print: (line: string) => void): Promise<void> }>

async function shown(example: Example): Promise<string[]> {
  const lines: string[] = []
  await example.show((line) => lines.push(line.trim()))
  return lines
}

/** They end with their world. */
async function entitiesOf({ system, clock }: World): Promise<Entities> {
  const journal = await memoryJournal({ clock })
  return createEntities({ system, journal, definitions: [shop.cart] })
}

describe('the examples', () => {
  test('counter: everything told before the question is counted', async () => {
    assert.deepEqual(await shown(counter), [
      'told /visits to add 1, 2, … 100, then asked: 5050',
      'told it once more after its end: actor-stopped, 1 dead letter',
    ])
  })

  test('ping-pong: whoever is left alone is told', async () => {
    const [learns, hits] = await shown(pingPong)
    assert.equal(learns, '/pong learns that /ping ended: stopped')
    assert.match(hits ?? '', /^100000 hits in \d+ ms/)
  })

  test('traffic light: every transition is followed by its enter', async () => {
    assert.deepEqual(await shown(trafficLight), [
      'at  0 s  enter red',
      'at 20 s  red → green',
      'at 20 s  enter green',
      'at 35 s  green → amber',
      'at 35 s  enter amber',
      'at 38 s  amber → red',
      'at 38 s  enter red',
    ])
  })

  test('rate-limited worker: three jobs, then a rest', async () => {
    assert.deepEqual(await shown(rateLimited), [
      'at    0 ms  jobs 1, 2, 3',
      'at 1000 ms  jobs 4, 5, 6',
      'at 2000 ms  jobs 7, 8, 9',
      'at 3000 ms  jobs 10',
      'suspended 3 times, 3000 ms in all',
    ])
  })

  test('supervised crawler: pauses double, and the watcher learns the cause', async () => {
    assert.deepEqual(await shown(crawler), [
      '/spider/news failed at 0, 100 ms',
      '/spider/archive failed at 0, 100, 300, 700 ms',
      'read: about, home, news',
      'lost: archive, restart-limit, Error: 500 internal server error',
    ])
  })

  test('back-pressure pipeline: the source waits and nothing is lost', async () => {
    const [source, parser, stored] = await shown(pipeline)
    assert.match(source ?? '', /^\/source waited for room \d+ times, \d+ % of the time$/)
    assert.match(parser ?? '', /^\/parser waited for room \d+ times, \d+ % of the time$/)
    assert.equal(stored, '5000 of 5000 records stored, in order')
  })

  test('bank account: what was answered is there after a restart', async () => {
    assert.deepEqual(await shown(bank), [
      'deposited 50.00: balance 50.00, version 1',
      'withdrew 20.00, asked twice with one request id: balance 30.00',
      'withdraw 99.00: refused, version 2',
      'closed everything, opened it again',
      'balance 30.00, version 2',
      'at version 1 it was 50.00',
    ])
  })

  test('shopping cart: an alarm comes to whoever was left alone', async () => {
    assert.deepEqual(await shown(shop), [
      'at  0 min  Ada takes a lamp, Grace a chair',
      'at 20 min  0 carts are in memory',
      'Ada takes a table',
      'at 35 min  Ada has lamp and table, Grace nothing',
      'Ada checks out',
      '1 alarm; in the journal: item-added, item-added, item-added, abandoned, checked-out',
    ])
  })

  test('transfer: each payment has one effect, and no coin is lost', async () => {
    const [purses, payments, batches, sum] = await shown(transfer)
    assert.equal(purses, '4 purses with 100 coins each')
    assert.match(payments ?? '', /^200 payments, each asked for twice: \d+ granted$/)
    assert.match(batches ?? '', /^\d+ in the journal, each in one batch with what it led to$/)
    assert.match(sum ?? '', /^\d+ \+ \d+ \+ \d+ \+ \d+ = 400 coins$/)
  })

  test('queue workers: what fails comes again, and is put aside in the end', async () => {
    assert.deepEqual(await shown(queueWorkers), [
      'after 2 s, three at a time: packed 1, 2, 3, 4, 6',
      'put aside: {"id":5,"item":"sofa"}, there is no sofa and there is no sofa',
      'the sofa has come, the order is taken back and packed',
      '6 orders done, 2 failures on the way',
    ])
  })
})

describe('the actors of the examples, on stage', () => {
  test('a counter answers with its sum', () => {
    const subject = stage(counter.counter())
    const sum = inbox<number>('sum')

    subject.tell({ type: 'add', amount: 2 })
    subject.tell({ type: 'add', amount: 3 })
    subject.tell({ type: 'read', replyTo: sum })

    sum.expect(5)
    sum.expectEmpty()
  })

  test('a light can be placed in the middle, and a second press changes nothing', () => {
    const subject = stage<trafficLight.LightMessage, trafficLight.Light>(
      trafficLight.trafficLight(),
    )
    subject.place('green', { presses: 0 })
    subject.enter()

    subject.tell({ type: 'pressed' })
    subject.advance(4_000)
    subject.tell({ type: 'pressed' })
    subject.advance(999)
    assert.equal(subject.state, 'green')
    subject.advance(1)
    assert.equal(subject.state, 'amber')
  })

  test('a crawler takes whatever reader it is handed', () => {
    const reports = inbox<crawler.Report>('reports')
    const none = crawler.pageReader(() => Promise.reject(new Error('offline')))
    const subject = stage(crawler.crawler(none, reports))

    subject.tell({ type: 'visit', page: 'home' })

    assert.deepEqual(
      subject.children.map(({ path }) => path),
      ['/subject/home'],
    )
    reports.expectEmpty()
  })
})

describe('the entities of the examples, as specifications', () => {
  test('an account gives out what it has, and no more', () => {
    given(bank.account, [{ type: 'deposited', amount: 100 }])
      .when({ type: 'withdraw', amount: 70 })
      .expect([{ type: 'withdrawn', amount: 70 }], { ok: true, balance: 30 })
      .expectState({ balance: 30 })
      .when({ type: 'withdraw', amount: 70 })
      .expect([], { ok: false, balance: 30 })
  })

  test('a cart expires when its time has come, not a millisecond sooner', () => {
    const at = 1_000_000
    const left = at + shop.ABANDONED_MS
    const one = given(shop.cart).when({ type: 'add', item: 'lamp', count: 1 }, at)

    one.expectAlarm({ at: left, command: { type: 'expire' } })
    one.when({ type: 'expire' }, left - 1).expect([], { ok: false, items: { lamp: 1 } })
    one
      .when({ type: 'expire' }, left)
      .expect([{ type: 'abandoned' }], { ok: true, items: { lamp: 1 } })
      .expectAlarm(undefined)
    one
      .when({ type: 'add', item: 'lamp', count: 2 }, left - 1)
      .expectState({ items: { lamp: 3 }, touchedAt: left - 1 })
      .expectAlarm({ at: left - 1 + shop.ABANDONED_MS, command: { type: 'expire' } })
    one.when({ type: 'check-out' }, left).expectAlarm(undefined)
  })

  test('a payment has a leg in the purse that is paid', () => {
    given(transfer.purse, [{ type: 'filled', coins: 10 }], { id: 'ada' })
      .when({ type: 'pay', coins: 7, to: 'grace' })
      .expect([{ type: 'paid', coins: 7, to: 'grace' }], { ok: true, coins: 3 }, [
        leg(transfer.purse, 'grace', [{ type: 'received', coins: 7, from: 'ada' }]),
      ])
      .when({ type: 'pay', coins: 4, to: 'grace' })
      .expect([], { ok: false, coins: 3 })
  })
})

describe('the entities of the examples, in a world', () => {
  test('an account answers a repeated request as it did, whatever happened since', async () => {
    await using town = world()
    const entities = await entitiesOf(town)
    const ask = (command: bank.AccountCommand, requestId: string) =>
      town.until(entities.ask(bank.account, 'ada', command, { requestId }))

    await ask({ type: 'deposit', amount: 100 }, 'one')
    await ask({ type: 'withdraw', amount: 80 }, 'two')
    await town.until(entities.passivate({ type: 'account', id: 'ada' }))
    const again = await ask({ type: 'withdraw', amount: 80 }, 'two')

    assert.deepEqual([again.reply, again.replayed], [{ ok: true, balance: 20 }, true])
    await assert.rejects(ask({ type: 'withdraw', amount: 8 }, 'two'), { code: 'request-mismatch' })
  })

  test('a cart that is touched in time is kept, in whichever order things come', async () => {
    await explore(20, async (town) => {
      const entities = await entitiesOf(town)
      const add = entities.ask(shop.cart, 'ada', { type: 'add', item: 'lamp', count: 1 })
      await town.until(add)
      await town.advance(shop.ABANDONED_MS - 1_000)
      await town.until(entities.ask(shop.cart, 'ada', { type: 'add', item: 'lamp', count: 1 }))
      await town.advance(shop.ABANDONED_MS - 1_000)
      const kept = await town.until(entities.read(shop.cart, 'ada'))
      assert.deepEqual(kept.state.items, { lamp: 2 })
      await town.advance(2_000)
      const cleared = await town.until(entities.read(shop.cart, 'ada'))
      assert.deepEqual(cleared.state.items, {})
    })
  })

  test('purses that pay each other in a circle keep every coin, in whichever order', async () => {
    const ids = ['a', 'b', 'c']
    await explore(20, async (town) => {
      const entities = await entitiesOf(town)
      for (const id of ids)
        await town.until(entities.ask(transfer.purse, id, { type: 'fill', coins: 5 }))
      const pays = ids.flatMap((from, n) =>
        [1, 2, 3].map((coins) =>
          entities.ask(transfer.purse, from, { type: 'pay', coins, to: ids[(n + 1) % 3]! }),
        ),
      )
      await town.until(Promise.all(pays))
      const purses = await Promise.all(ids.map((id) => entities.read(transfer.purse, id)))
      assert.equal(
        purses.reduce((sum, { state }) => sum + state.coins, 0),
        15,
      )
    })
  })
})
