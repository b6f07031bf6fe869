import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { random } from '../std/index.ts'
import { inbox, type Inbox } from './inbox.ts'
import { Link, type LinkFaults } from './link.ts'
import { virtualClock, type VirtualClock } from './virtual-clock.ts'

const GOOD: LinkFaults = { lossShare: 0, repeatShare: 0, delayMsMax: 0 }
const TOLD = 1_000

type Setting = Readonly<{
  link: Link<number>
  box: Inbox<number>
  clock: VirtualClock
  lost: unknown[]
}>

function setting(faults: Partial<LinkFaults>): Setting {
  const [box, clock, lost]: [Inbox<number>, VirtualClock, unknown[]] = [
    inbox('b'),
    virtualClock(),
    [],
  ]
  const link = new Link(
    box,
    { ...GOOD, ...faults },
    { draws: random(1), clock, freezes: true, onLost: (_path, message) => lost.push(message) },
  )
  return { link, box, clock, lost }
}

function numbers(count: number): number[] {
  return [...Array(count).keys()]
}

describe('link', () => {
  test('a good one passes everything on at once', () => {
    const { link, box } = setting({})

    for (const n of numbers(TOLD)) link.tell(n)

    assert.deepEqual(box.messages, numbers(TOLD))
    assert.equal(link.path, '/b')
  })

  test('a lossy one loses its share, keeps the order of the rest, and names what is lost', () => {
    const { link, box, lost } = setting({ lossShare: 0.1 })

    for (const n of numbers(TOLD)) assert.equal(link.tell(n), undefined)

    assert.ok(lost.length > 50 && lost.length < 200)
    assert.deepEqual(
      [...box.messages, ...lost].toSorted((a, b) => Number(a) - Number(b)),
      numbers(TOLD),
    )
    assert.deepEqual(
      box.messages,
      box.messages.toSorted((a, b) => a - b),
    )
  })

  test('a repeating one tells some twice in a row', () => {
    const { link, box } = setting({ repeatShare: 0.5 })

    for (const n of numbers(TOLD)) link.tell(n)

    assert.ok(box.messages.length > 1_300 && box.messages.length < 1_700)
    assert.deepEqual([...new Set(box.messages)], numbers(TOLD))
    assert.deepEqual(
      box.messages,
      box.messages.toSorted((a, b) => a - b),
    )
  })

  test('a slow one delays up to its limit and keeps the order', () => {
    const { link, box, clock } = setting({ delayMsMax: 20 })
    const arrivals: number[] = []
    for (const n of numbers(100)) {
      link.tell(n)
      clock.advance(1)
      arrivals.push(box.messages.length)
    }
    assert.ok(arrivals.every((arrived, told) => arrived <= told + 1 && arrived >= told - 20))
    assert.ok(arrivals.some((arrived, told) => arrived <= told))

    clock.advance(20)

    assert.deepEqual(box.messages, numbers(100))
  })

  test('freezes what is told, at once', () => {
    const { link } = setting({ delayMsMax: 20 })
    const message = { n: 1 }

    link.tell(message as never)

    assert.ok(Object.isFrozen(message))
  })

  test('refuses what its target refuses, and ends with it', () => {
    const { link, box } = setting({})
    const ended: string[] = []
    link.onEnd(({ cause }) => ended.push(cause))

    box.end('failed')

    assert.equal(link.tell(1)?.code, 'actor-stopped')
    assert.deepEqual(ended, ['failed'])
  })

  test('the same draws lose the same messages', () => {
    const once = setting({ lossShare: 0.3 })
    const again = setting({ lossShare: 0.3 })
    for (const n of numbers(TOLD)) {
      once.link.tell(n)
      again.link.tell(n)
    }
    assert.deepEqual(once.lost, again.lost)
  })
})
