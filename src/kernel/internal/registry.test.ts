import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createSteppedSystem, manual, receive, type Handle, type SteppedSystem } from '../index.ts'
import { Cell } from './cell.ts'

function idle(system: SteppedSystem, name: string): Handle<string> {
  return system.spawn(
    name,
    receive<string>(() => undefined),
  )
}

function cellOf(system: SteppedSystem, handle: Handle<string>): Cell {
  const cell = system.cellOf(handle)
  assert.ok(cell instanceof Cell)
  return cell
}

function runAll(system: SteppedSystem): void {
  while (system.step());
}

describe('registry', () => {
  test('the cell tells the registry on resume', (t) => {
    const system = createSteppedSystem()
    const subject = idle(system, 'subject')
    const cell = cellOf(system, subject)
    const resumed = t.mock.method(cell.core.registry, 'resumed')
    const first = subject.suspend('user', manual())
    const second = subject.suspend('external', manual())
    subject.tell('waits')

    first.resume()
    assert.equal(resumed.mock.callCount(), 0)
    assert.equal(system.readyDepth, 0)

    second.resume()
    assert.deepEqual(
      resumed.mock.calls.map(({ arguments: [told] }) => told),
      [cell],
    )
    assert.equal(system.readyDepth, 1)
  })

  test('a resume without mail registers nothing', () => {
    const system = createSteppedSystem()
    const subject = idle(system, 'subject')

    subject.suspend('user', manual()).resume()

    assert.equal(system.readyDepth, 0)
  })

  test('an address is given once and finds its actor', () => {
    const system = createSteppedSystem()
    const [a, b] = [idle(system, 'a'), idle(system, 'b')]
    const { registry } = cellOf(system, a).core

    assert.deepEqual(system.addressOf(a), system.addressOf(a))
    assert.notDeepEqual(system.addressOf(a), system.addressOf(b))
    assert.ok(registry.at(system.addressOf(b)) === cellOf(system, b))
  })

  test('the address of an ended actor finds nobody, nor whoever has its place next', () => {
    const system = createSteppedSystem()
    const first = idle(system, 'a')
    const old = system.addressOf(first)
    first.stop()
    runAll(system)

    const { registry } = cellOf(system, first).core
    assert.ok(registry.at(old) === undefined)

    const second = idle(system, 'a')
    const fresh = system.addressOf(second)
    assert.equal(fresh.slot, old.slot)
    assert.equal(fresh.generation, old.generation + 1)
    assert.ok(registry.at(old) === undefined)
    assert.ok(registry.at(fresh) === cellOf(system, second))
  })

  test('an address taken after the end is stale too, whether or not there was one before', () => {
    for (const takenBefore of [true, false]) {
      const system = createSteppedSystem()
      const first = idle(system, 'a')
      if (takenBefore) system.addressOf(first)
      first.stop()
      runAll(system)

      const late = system.addressOf(first)
      const second = idle(system, 'a')
      system.addressOf(second)

      assert.ok(cellOf(system, second).core.registry.at(late) === undefined)
      const refusal = system.tellAt(late, 'hello')
      assert.equal(refusal?.code, 'stale-address')
    }
  })

  test('an address nobody was ever given finds nobody', () => {
    const system = createSteppedSystem()
    const actor = idle(system, 'a')
    const given = system.addressOf(actor)
    const { registry } = cellOf(system, actor).core

    for (const slot of [-1, given.slot + 1])
      assert.ok(registry.at({ ...given, slot }) === undefined)
    for (const generation of [0, given.generation + 1]) {
      assert.ok(registry.at({ ...given, generation }) === undefined)
    }
  })
})
