import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal, type Journal, type NewEvent } from '../journal/index.ts'
import { Accident, fault, lineLog } from '../std/index.ts'
import { virtualClock, world } from '../testkit/index.ts'
import { createEntities } from './entities.ts'
import { accept, entity, type AnyEntity, type EntityDefinition } from './entity.ts'
import { project, type Projection, type Touch } from './projection.ts'

const account: AnyEntity = {
  type: 'account',
  version: 2,
  upcast: { 1: (event) => ({ type: `${event.type}-today` }) },
}

/** How many events each account has had, and in all. */
const counts: Projection<number> = {
  name: 'counts',
  version: 1,
  of: [account],
  on: ({ key }) => [increased(key.id), increased('all')],
}

function increased(key: string): Touch<number> {
  return { key, change: (before = 0) => before + 1 }
}

function happened(type: string, version = 2): NewEvent {
  return { type, version, at: 1, data: '{}' }
}

async function append(journal: Journal, stream: string, ...events: NewEvent[]): Promise<number> {
  const result = await journal.commit({ streams: [{ stream, expected: 'any', events }] })
  assert.equal(result.type, 'committed')
  return journal.position()
}

/** History that cannot be read. */
function touchFailing(): Touch<string> {
  return {
    key: 'a',
    change: () => Promise.reject(new Accident(fault('damaged', 'a page cannot be read'))),
  }
}

describe('a projection', () => {
  test('knows the events of its entities, and is refused one that makes others', async () => {
    type Named = Readonly<{ type: 'named'; name: string }>
    type Aged = Readonly<{ type: 'aged'; years: number }>
    const person: EntityDefinition<null, Named, Named, null> = entity({
      type: 'person',
      version: 2,
      initial: () => null,
      decide: (_state, named) => accept([named], null),
      evolve: (state) => state,
      upcast: { 1: ({ years }: Aged) => ({ type: 'named', name: `${years}` }) },
    })
    const names: Projection<string, Named> = {
      name: 'names',
      version: 1,
      of: [person],
      on: ({ key, event }) => [{ key: key.id, change: () => event.name }],
    }
    // @ts-expect-error -- a person is named, which is not among these
    const ages: Projection<number, Aged> = { ...names, of: [person], on: () => [] }
    assert.deepEqual(ages.of, names.of)

    const journal = await memoryJournal()
    await using view = project(journal, names)
    const aged = { ...happened('aged', 1), data: '{"years":7}' }
    const seen = await append(journal, 'person/a', aged)
    assert.equal(await view.get('a', { seen }), '7')
  })
})

describe('a view', () => {
  test('shows what a projection made of every event of its entities', async () => {
    const journal = await memoryJournal()
    await append(journal, 'account/a', happened('opened'), happened('paid'))
    await append(journal, 'cart/a', happened('opened'))
    await append(journal, 'something-else', happened('opened'))
    await using view = project(journal, counts)
    const seen = await append(journal, 'account/b/c', happened('opened'))

    assert.equal(await view.get('all', { seen }), 3)
    assert.equal(view.position, seen)
    assert.equal(await view.get('nobody'), undefined)
    assert.deepEqual(await view.list(''), [
      { key: 'a', value: 2 },
      { key: 'all', value: 3 },
      { key: 'b/c', value: 1 },
    ])
    assert.deepEqual(await view.list('a', { after: 'a', limit: 1 }), [{ key: 'all', value: 3 }])
  })

  test('rests after a page and then takes all there is at once, unless somebody waits', async () => {
    const clock = virtualClock()
    const journal = await memoryJournal()
    await using view = project(journal, counts, clock)
    await append(journal, 'account/a', happened('opened'))
    await idle()
    assert.equal(view.position, 1)

    const { commits } = journal.stats()
    for (let n = 0; n < 10; n++) await append(journal, 'account/a', happened('paid'))
    await idle()
    assert.equal(view.position, 1)
    clock.advance(50)
    await idle()
    assert.equal(view.position, 11)
    assert.equal(journal.stats().commits, commits + 11)

    const seen = await append(journal, 'account/a', happened('closed'))
    assert.equal(await view.get('a', { seen }), 12)
    await append(journal, 'account/a', happened('opened'))
    await view.close()
    await view.ended
  })

  test('reads what was written before it, and says when it cannot in time', async () => {
    const clock = virtualClock()
    const journal = await memoryJournal()
    await using view = project(journal, counts, clock)
    const late = view.get('a', { seen: 1, deadlineMs: 50 })
    clock.advance(49)
    await append(journal, 'account/a', happened('opened'))
    assert.equal(await late, 1)

    const never = view.get('a', { seen: 2 })
    clock.advance(4_999)
    const never2 = assert.rejects(never, (error: Accident) => {
      assert.equal(error.code, 'view-behind')
      assert.equal(error.detail['seen'], 2)
      return true
    })
    clock.advance(1)
    await never2
  })

  test('lets 10 000 reads wait for it and refuses one more, and a wait without an end', async () => {
    const journal = await memoryJournal()
    await using view = project(journal, counts)
    const waiting = Array.from({ length: 10_000 }, () => view.get('a', { seen: 1 }))
    await assert.rejects(view.get('a', { seen: 1 }), {
      code: 'view-behind',
      message: /10000 reads wait for it already/,
    })
    await append(journal, 'account/a', happened('opened'))
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([1]))
    for (const deadlineMs of [0, Infinity, NaN])
      await assert.rejects(view.get('a', { seen: 2, deadlineMs }), { code: 'bad-option' })
  })

  test('deletes what a touch leaves undefined, and writes nothing that has not changed', async () => {
    const journal = await memoryJournal()
    const open: Projection<object> = {
      name: 'open',
      version: 1,
      of: [account],
      on: ({ key, event }) => [
        { key: key.id, change: () => (event.type === 'closed' ? undefined : { is: 'open' }) },
      ],
    }
    await using view = project(journal, open)
    await view.get('a', { seen: await append(journal, 'account/a', happened('opened')) })
    const { records } = journal.stats()
    await view.get('a', { seen: await append(journal, 'account/a', happened('paid')) })
    assert.equal(journal.stats().records, records)
    const seen = await append(journal, 'account/a', happened('closed'))
    assert.equal(await view.get('a', { seen }), undefined)
    assert.deepEqual(await view.list(''), [])
  })

  test('reads a value once before it changes it, and none that does not depend on what it was', async () => {
    const journal = await memoryJournal()
    const asked: (readonly string[])[] = []
    const watched = new Proxy(journal, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: readonly unknown[]): unknown => {
          if (name === 'getRecords' && Array.isArray(args[1]) && args[0] === 'view/both@1')
            asked.push(args[1])
          return Reflect.apply(value, target, args)
        }
      },
    })
    const both: Projection<number> = {
      name: 'both',
      version: 1,
      of: [account],
      on: ({ key, stored }) => [increased(key.id), { key: `last-${key.id}`, value: stored.seq }],
    }
    await using view = project(watched, both)
    for (let n = 1; n <= 3; n++) {
      const seen = await append(journal, 'account/a', happened('paid'), happened('paid'))
      const values = [...(await view.list('', { seen }))]
      assert.deepEqual(values, [
        { key: 'a', value: 2 * n },
        { key: 'last-a', value: 2 * n },
      ])
    }
    assert.deepEqual(asked, [['a']])
  })

  test('gives many values at once, those that are there', async () => {
    const journal = await memoryJournal()
    await using view = project(journal, counts)
    await append(journal, 'account/a', happened('opened'))
    const seen = await append(journal, 'account/b', happened('opened'))
    const keys = [...Array.from({ length: 10_001 }, (_, n) => `none-${n}`), 'b', 'a']
    assert.deepEqual(Object.fromEntries(await view.getAll(keys, { seen })), { a: 1, b: 1 })
  })

  test('waits for a value that has to be read elsewhere, in order', async () => {
    const journal = await memoryJournal()
    const read: Projection<string> = {
      name: 'read',
      version: 1,
      of: [account],
      on: ({ key, stored: { seq } }) => [
        {
          key: key.id,
          change: (before = '') =>
            seq % 2 === 0 ? journal.position().then(() => `${before}${seq}`) : `${before}${seq}`,
        },
      ],
    }
    const seen = await append(journal, 'account/a', ...Array(4).fill(happened('x')))
    await using view = project(journal, read)
    assert.equal(await view.get('a', { seen }), '1234')

    const failing = { ...read, name: 'failing', on: () => [touchFailing()] }
    const failed = project(journal, failing)
    await assert.rejects(failed.ended, { code: 'damaged' })
  })

  test('goes on where it was, each event once', async () => {
    const journal = await memoryJournal()
    for (let n = 1; n <= 5; n++) {
      const view = project(journal, counts)
      const seen = await append(journal, 'account/a', happened('paid'))
      if (n % 2 === 0) await view.get('a', { seen })
      await view.close()
      await view.ended
    }
    await using view = project(journal, counts)
    assert.equal(await view.get('a', { seen: 5 }), 5)
  })

  test('stores its position although nothing touches it, but not at every event', async () => {
    const journal = await memoryJournal()
    await using view = project(journal, { ...counts, of: [] })
    const [first, second] = [Array(999), Array(1)].map((some) => some.fill(happened('x')))
    await view.get('x', { seen: await append(journal, 's', ...(first as NewEvent[])) })
    assert.deepEqual(await journal.readRecords('views', ''), [])
    await view.get('x', { seen: await append(journal, 's', ...(second as NewEvent[])) })
    assert.deepEqual(await journal.readRecords('views', ''), [{ key: 'counts@1', value: '1000' }])
  })

  test('is built anew when the version is raised, and the old one deleted', async () => {
    const journal = await memoryJournal()
    const many: NewEvent[] = Array(2_500).fill(happened('paid'))
    const each: Projection<number> = {
      ...counts,
      on: ({ stored }) => [increased(String(stored.position))],
    }
    const seen = await append(journal, 'account/a', ...many)
    const old = project(journal, each)
    assert.equal((await old.list('', { seen, limit: 10_000 })).length, 2_500)
    await old.close()

    await using view = project(journal, { ...counts, version: 2 })
    assert.deepEqual(await view.list('', { seen }), [
      { key: 'a', value: 2_500 },
      { key: 'all', value: 2_500 },
    ])
    assert.deepEqual(await journal.readRecords('view/counts@1', ''), [])
    assert.deepEqual(await journal.readRecords('views', ''), [{ key: 'counts@2', value: '2500' }])
  })

  test('takes a page in parts if its values are too many or too large for a batch', async () => {
    const journal = await memoryJournal()
    const large = 'x'.repeat(3_000_000)
    const wide: Projection<string> = {
      name: 'wide',
      version: 1,
      of: [account],
      on: ({ stored: { seq } }) =>
        Array.from({ length: 40 }, (_, n) => ({
          key: `${seq}-${n}`,
          change: () => (seq <= 6 && n === 0 ? large : 'small'),
        })),
    }
    const seen = await append(journal, 'account/a', ...Array(300).fill(happened('paid')))
    await using view = project(journal, wide)
    const first = await view.list('', { seen, limit: 10_000 })
    const rest = await view.list('', { after: first.at(-1)!.key, limit: 10_000 })
    const values = [...first, ...rest].map(({ value }) => value)
    assert.equal(values.length, 12_000)
    assert.equal(values.filter((value) => value === large).length, 6)
  })

  test('ends with what the projection threw, named, and so does every read', async () => {
    for (const on of [throwing, (): Touch<number>[] => [{ key: 'a', change: throwing }]]) {
      const journal = await memoryJournal()
      const view = project(journal, { ...counts, on })
      const seen = await append(journal, 'account/a', happened('paid'))
      const waiting = assert.rejects(view.get('a', { seen }), coded('view-ended'))
      await assert.rejects(view.ended, (error: Accident) => {
        assert.equal(error.code, 'projection-failed')
        assert.deepEqual(error.detail['key'], { type: 'account', id: 'a' })
        return (error.cause as Error).message === 'no'
      })
      await waiting
      await assert.rejects(view.get('a'), coded('view-ended'))
      await view.close()

      await using again = project(journal, counts)
      assert.equal(await again.get('a', { seen }), 1)
    }
  })

  test('started a second time is taken over, and counts nothing twice', async () => {
    const journal = await memoryJournal()
    const first = project(journal, counts)
    await first.get('a', { seen: await append(journal, 'account/a', happened('paid')) })
    const ended = assert.rejects(first.ended, coded('view-taken'))
    await using second = project(journal, counts)
    await second.get('a', { seen: 1 })
    const seen = await append(journal, 'account/a', happened('paid'))
    assert.equal(await second.get('a', { seen }), 2)
    await ended
  })

  test('waits for a journal that cannot take its batch, and ends with one that is broken', async () => {
    const clock = virtualClock()
    const journal = await memoryJournal()
    const trouble: { code: string | undefined } = { code: 'read-only' }
    const commit: Journal['commit'] = async (batch) => {
      const { code } = trouble
      if (code === 'unknown-outcome') await journal.commit(batch)
      if (code !== undefined)
        throw new Accident({ ok: false, code, message: 'trouble', detail: {} })
      return journal.commit(batch)
    }
    const troubled = new Proxy(journal, {
      get(target, name) {
        if (name === 'commit') return commit
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const view = project(troubled, counts, clock)
    let seen = await append(journal, 'account/a', happened('paid'))
    const first = view.get('a', { seen })
    await idle()
    trouble.code = undefined
    clock.advance(1_000)
    assert.equal(await first, 1)

    trouble.code = 'unknown-outcome'
    seen = await append(journal, 'account/a', happened('paid'))
    const second = view.get('a', { seen })
    await idle()
    trouble.code = undefined
    clock.advance(1_000)
    assert.equal(await second, 2)
    seen = await append(journal, 'account/a', happened('paid'))
    assert.equal(await view.get('a', { seen }), 3)

    trouble.code = 'read-only'
    await append(journal, 'account/a', happened('paid'))
    await idle()
    await view.close()
    await view.ended
    await assert.rejects(view.get('a'), coded('view-ended'))

    trouble.code = 'damaged'
    await assert.rejects(project(troubled, counts, clock).ended, coded('damaged'))
  })
})

describe('views and feeds of a runtime', () => {
  test('end with it, and are said in its log when they end without it', async () => {
    await using earth = world()
    const journal = await memoryJournal({ clock: earth.clock })
    const said: string[] = []
    const log = lineLog((line) => said.push(line), { level: 'warn' })
    const entities = createEntities({ system: earth.system, journal, log })
    const good = entities.project(counts)
    const bad = entities.project({ ...counts, name: 'bad', on: throwing })
    await append(journal, 'account/a', happened('paid'))
    await assert.rejects(earth.until(bad.ended), coded('projection-failed'))
    assert.equal(await earth.until(good.get('a', { seen: 1 })), 1)
    assert.equal(said.length, 1)
    assert.match(said[0]!, /a view or a feed has ended.*projection-failed/)
    await earth.until(entities.drain())
    await good.ended
    assert.equal(said.length, 1)
  })
})

function throwing(): never {
  throw new Error('no')
}

function coded(code: string): (error: Accident) => boolean {
  return (error) => {
    assert.equal(error.code, code)
    return true
  }
}

/** Until everything that needs no time has happened. */
async function idle(): Promise<void> {
  for (let n = 0; n < 100; n++) await Promise.resolve()
}
