/** Dead letters over HTTP: looked at, given up, taken back. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { counter, type Counter } from '../../../test/broker/counter.ts'

type Fields = Readonly<Record<string, unknown>>

/** A queue with so many dead letters: `1`, `2`, … */
async function graveyard(count: number): Promise<Counter> {
  const at = await counter()
  await at.ask('PUT', '/queues/jobs', { config: { maxReceives: 1 } })
  const messages = Array.from({ length: count }, (_, n) => ({ body: String(n + 1) }))
  await at.ask('POST', '/queues/jobs/messages', { messages })
  const held = await at.ask('POST', '/queues/jobs/deliveries', { max: count })
  const settlements = (held.body['deliveries'] as Fields[]).map(({ receipt, body }) => ({
    type: 'nack',
    receipt,
    reason: `no ${String(body)}`,
  }))
  const ended = await at.ask('POST', '/queues/jobs/settlements', { settlements })
  assert.ok((ended.body['settled'] as Fields[]).every(({ ok }) => ok))
  return at
}

async function dead(at: Counter, query = ''): Promise<Fields[]> {
  const { status, body, text } = await at.ask('GET', `/queues/jobs/dead-letters${query}`)
  assert.equal(status, 200, text)
  return body['messages'] as Fields[]
}

const bodies = (messages: readonly Fields[]): unknown[] => messages.map(({ body }) => body)

async function back(at: Counter): Promise<unknown[]> {
  const { body } = await at.ask('GET', '/queues/jobs/messages')
  return bodies(body['messages'] as Fields[])
}

function redrive(at: Counter, asked: Fields = {}): ReturnType<Counter['ask']> {
  return at.ask('POST', '/queues/jobs/dead-letters/redrives', asked)
}

describe('dead letters', () => {
  test('say why they died, and are found by what is in them', async () => {
    await using at = await graveyard(3)
    const [first, ...rest] = await dead(at)
    const [failure] = first!['failures'] as Fields[]
    assert.deepEqual(
      [failure?.['reason'], first?.['deadLetterOf'], rest.length],
      ['no 1', 'jobs', 2],
    )
    assert.deepEqual(bodies(await dead(at, '?search=no%203')), ['3'])
    assert.deepEqual(bodies(await dead(at, '?limit=1')), ['1'])
  })

  test('are none before the first, and cannot be where none are kept', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/jobs')
    assert.deepEqual(await dead(at), [])
    const purged = await at.ask('DELETE', '/queues/jobs/dead-letters')
    assert.deepEqual([purged.status, purged.body], [200, { purged: 0 }])
    const tasks = await at.ask('GET', '/queues/jobs/dead-letters/redrives')
    assert.deepEqual(tasks.body, { redrives: [] })
    const moved = await redrive(at)
    assert.deepEqual([moved.status, moved.body['code']], [404, 'no-dead-letters'])

    await at.ask('PATCH', '/queues/jobs', { config: { deadLetterQueue: false } })
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/redrives'],
      ['DELETE', '/redrives/x'],
    ] as const) {
      const { status, body } = await at.ask(method, `/queues/jobs/dead-letters${path}`)
      assert.deepEqual([status, body['code']], [404, 'no-dead-letters'])
    }
  })

  test('can be given up', async () => {
    await using at = await graveyard(3)
    const purged = await at.ask('DELETE', '/queues/jobs/dead-letters')
    assert.deepEqual(purged.body, { purged: 3 })
    assert.deepEqual(await dead(at), [])
    assert.equal((await at.ask('DELETE', '/queues/jobs/dead-letters')).status, 409)
  })
})

describe('a redrive', () => {
  test('takes all back, and says how far it is', async () => {
    await using at = await graveyard(3)
    const begun = await redrive(at)
    assert.equal(begun.status, 202)
    assert.deepEqual([begun.body['source'], begun.body['toMove']], ['jobs_dlq', 3])
    await at.town.advance(1_000)
    const tasks = await at.ask('GET', '/queues/jobs/dead-letters/redrives')
    const [task] = tasks.body['redrives'] as Fields[]
    assert.deepEqual(
      [task?.['task'], task?.['state'], task?.['moved']],
      [begun.body['task'], 'completed', 3],
    )
    assert.deepEqual([await back(at), await dead(at)], [['1', '2', '3'], []])
  })

  test('takes those that are named, or that have a text in them', async () => {
    await using at = await graveyard(4)
    const [, second] = await dead(at)
    await redrive(at, { ids: [second?.['messageId']] })
    await at.town.advance(1_000)
    assert.deepEqual(await back(at), ['2'])
    await redrive(at, { search: 'no 4' })
    await at.town.advance(1_000)
    assert.deepEqual(
      [await back(at), bodies(await dead(at))],
      [
        ['2', '4'],
        ['1', '3'],
      ],
    )
  })

  test('may go elsewhere', async () => {
    await using at = await graveyard(1)
    assert.equal((await redrive(at, { to: 'repair' })).body['code'], 'no-such-queue')
    await at.ask('PUT', '/queues/repair')
    const begun = await redrive(at, { to: 'repair' })
    assert.equal(begun.body['target'], 'repair')
    await at.town.advance(1_000)
    const { body } = await at.ask('GET', '/queues/repair/messages')
    assert.deepEqual(bodies(body['messages'] as Fields[]), ['1'])
  })

  test('goes no faster than told, one at a time, and can be stopped', async () => {
    await using at = await graveyard(50)
    const begun = await redrive(at, { ratePerSecond: 10 })
    await at.town.advance(1_000)
    const second = await redrive(at)
    assert.deepEqual([second.status, second.body['code']], [409, 'task-running'])
    const path = `/queues/jobs/dead-letters/redrives/${encodeURIComponent(String(begun.body['task']))}`
    const stopped = await at.ask('DELETE', path)
    assert.equal(stopped.status, 200, stopped.text)
    await at.town.advance(5_000)
    const moved = (await back(at)).length
    assert.ok(moved >= 5 && moved <= 15, `${moved} in a second`)
    const tasks = await at.ask('GET', '/queues/jobs/dead-letters/redrives')
    assert.equal((tasks.body['redrives'] as Fields[])[0]?.['state'], 'cancelled')
    const again = await at.ask('DELETE', path)
    assert.deepEqual([again.status, again.body['code']], [404, 'no-such-task'])
  })

  test('is stopped only at the queue it belongs to', async () => {
    await using at = await graveyard(50)
    await at.ask('PUT', '/queues/other', { config: { deadLetterQueue: 'other_dead' } })
    await at.ask('PUT', '/queues/other_dead')
    const begun = await redrive(at, { ratePerSecond: 1 })
    const task = encodeURIComponent(String(begun.body['task']))
    const told = await at.ask('DELETE', `/queues/other/dead-letters/redrives/${task}`)
    assert.deepEqual([told.status, told.body['code']], [404, 'no-such-task'])
  })
})
