import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { virtualClock } from '../../testkit/index.ts'
import {
  createSteppedSystem,
  manual,
  receive,
  type Behavior,
  type Handle,
  type SpawnOptions,
} from '../index.ts'
import { Cell } from './cell.ts'
import { invoke, judge } from './invoker.ts'

function cellOf<M>(
  behavior: Behavior<M>,
  options?: SpawnOptions<M>,
): Readonly<{ cell: Cell; handle: Handle<M> }> {
  const system = createSteppedSystem({ clock: virtualClock() })
  const handle = system.spawn('subject', behavior, options)
  const cell = system.cellOf(handle)
  assert.ok(cell instanceof Cell)
  return { cell, handle }
}

describe('invoker', () => {
  test('the invoker returns suspended', () => {
    const seen: string[] = []
    const { cell, handle } = cellOf(receive<string>((_ctx, message) => void seen.push(message)))
    const condition = manual()
    handle.suspend('backpressure', condition)
    handle.tell('waits')

    const result = invoke(cell, 10)

    assert.deepEqual(result, { type: 'suspended', reason: 'backpressure', resumeOn: condition })
    assert.deepEqual(seen, [])
  })

  test('a handler that suspends itself is judged after its message, not after the batch', () => {
    const seen: string[] = []
    const condition = manual()
    const { cell, handle } = cellOf(
      receive<string>((ctx, message) => {
        seen.push(message)
        if (message === 'rest') ctx.suspend('user', condition)
      }),
    )
    for (const message of ['one', 'rest', 'later']) handle.tell(message)

    const result = invoke(cell, 10)

    assert.deepEqual(result, { type: 'suspended', reason: 'user', resumeOn: condition })
    assert.deepEqual(seen, ['one', 'rest'])
  })

  test('an async handler is suspended on its own promise', () => {
    const { promise } = Promise.withResolvers<void>()
    const { cell, handle } = cellOf(receive<string>(() => promise))
    handle.tell('one')

    const result = invoke(cell, 10)

    assert.equal(result.type, 'suspended')
    assert.ok(result.type === 'suspended' && result.reason === 'await')
    assert.deepEqual(result.resumeOn, { type: 'promise', promise })
  })

  test('an empty mailbox is completed, a longer one than the batch has yielded', () => {
    const { cell, handle } = cellOf(receive<number>(() => undefined))
    for (const message of [1, 2, 3]) handle.tell(message)

    assert.equal(invoke(cell, 2).type, 'yielded')
    assert.equal(invoke(cell, 2).type, 'completed')
    assert.equal(invoke(cell, 2).type, 'completed')
  })

  test('what was thrown comes back as failed, whatever it is', () => {
    for (const thrown of [new Error('no'), undefined, null, 'text', Object.freeze({})]) {
      const { cell, handle } = cellOf(
        receive<string>(() => {
          throw thrown
        }),
        { supervision: { type: 'resume' } },
      )
      handle.tell('fails')

      assert.deepEqual(invoke(cell, 10), { type: 'failed', error: thrown })
    }
  })

  test('a cell that ends or has ended is stopped', () => {
    const { cell, handle } = cellOf(receive<string>(() => 'stopped'))
    handle.tell('last')

    assert.equal(invoke(cell, 10).type, 'stopped')
    assert.equal(judge(cell).type, 'stopped')
  })

  test('judging changes nothing', () => {
    const { cell, handle } = cellOf(receive<string>(() => undefined))
    handle.suspend('external', manual())
    handle.tell('waits')
    const { status } = cell

    assert.deepEqual(judge(cell), judge(cell))
    assert.equal(cell.status, status)
    assert.equal(cell.mail?.isEmpty, false)
  })

  test('system work is done while the cell is suspended', () => {
    const { cell, handle } = cellOf(receive<string>(() => undefined))
    handle.suspend('external', manual())
    handle.stop()

    assert.equal(invoke(cell, 10).type, 'stopped')
  })
})
